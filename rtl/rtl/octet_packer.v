// Joins words with any number of octets into words without gaps.
//
// Octets that do not fill a word wait in `rest`. With `in_final` all octets leave, in two words if they do not fit into
// one; no word may come in the next cycle. An output word is available three cycles after the input word that completes
// it. Octets of `out_word` without `out_keep` are zero.
`default_nettype none

module octet_packer #(
    parameter W = 32,
    // Derived: do not set.
    parameter BYTES = W / 8,
    parameter COUNT_W = $clog2(BYTES) + 1
) (
    input wire clk,
    input wire reset,
    input wire enable,

    input wire [      W-1:0] in_word,
    input wire [COUNT_W-1:0] in_octets,  // octets of the word; 0: no word
    input wire               in_final,   // with a word

    output reg              out_valid,
    output reg  [    W-1:0] out_word,
    output reg  [BYTES-1:0] out_keep,
    output reg              out_last
);

  // The word is rotated by the number of waiting octets, in two cycles: by its upper bits, then by its FINE lower bits.

  localparam FILLED_W = COUNT_W - 1;
  localparam FINE = COUNT_W / 2;

  reg [FILLED_W-1:0] filled;  // waiting octets

  wire [COUNT_W-1:0] sum = {1'b0, filled} + in_octets;
  wire [W-1:0] half_next, half_unused, turned_next, turned_unused;
  assign {half_next, half_unused} = {in_word, in_word} << {filled[FILLED_W-1:FINE], {FINE + 3{1'b0}}};

  reg [W-1:0] half;
  reg [FILLED_W-1:0] half_filled;
  reg [COUNT_W-1:0] half_sum;
  reg half_final, half_brings;
  assign {turned_next, turned_unused} = {half, half} << {half_filled[FINE-1:0], 3'd0};

  // Meanwhile it is computed which octets come from which word, and whether they complete a word.

  reg [W-1:0] turned;
  reg [BYTES-1:0] waiting, counts;  // waiting octets; waiting and new octets
  reg emits, ends, brings, flushes;
  wire fills = half_sum[FILLED_W];
  wire overflows = fills && |half_sum[FILLED_W-1:0];

  integer octet;
  always @(posedge clk) begin
    if (enable) begin
      half <= half_next;
      half_filled <= filled;
      half_sum <= sum;
      half_brings <= |in_octets;
      half_final <= in_final;
      filled <= half_final ? {FILLED_W{1'b0}} : sum[FILLED_W-1:0];

      turned <= turned_next;
      for (octet = 0; octet < BYTES; octet = octet + 1) begin
        waiting[octet] <= octet < half_filled;
        counts[octet] <= octet < half_sum;
      end
      brings <= half_brings;
      emits <= flushes || half_final || fills;
      ends <= flushes || (half_final && !overflows);
      flushes <= half_final && overflows;
    end
    if (reset) begin
      {half_sum, half_final, half_brings, emits, brings, flushes} <= 0;
      filled <= {FILLED_W{1'b0}};
    end
  end

  // Then the octets are joined.

  reg [W-1:0] rest;

  always @(posedge clk) begin
    if (enable) begin
      out_keep <= counts;
      for (octet = 0; octet < BYTES; octet = octet + 1) begin
        out_word[8*octet+:8] <= (waiting[octet] ? rest[8*octet+:8] : turned[8*octet+:8]) & {8{counts[octet]}};
        if (brings && (emits || !waiting[octet])) rest[8*octet+:8] <= turned[8*octet+:8];
      end
      out_valid <= emits;
      out_last <= ends;
    end
    if (reset) out_valid <= 1'b0;
  end

endmodule

`default_nettype wire
