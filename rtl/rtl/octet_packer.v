// Words with fewer octets than they could have, put together into words without gaps.
//
// A word that does not fill the one that is being made waits in `rest`. With `final` what is there goes out, in two words
// if it does not fit one; no word may come in the cycle after it. A word out is there two cycles after the one that makes
// it whole. Octets that it does not have are zero.
`default_nettype none

module octet_packer #(
    parameter W = 32,
    // of it, not to be set
    parameter BYTES = W / 8,
    parameter COUNT_W = $clog2(BYTES) + 1
) (
    input wire clk,
    input wire reset,
    input wire enable,

    input wire [      W-1:0] in_word,
    input wire [COUNT_W-1:0] in_octets,  // of the word, or 0: there is none
    input wire               in_final,   // with a word

    output reg              out_valid,
    output reg  [    W-1:0] out_word,
    output reg  [BYTES-1:0] out_keep,
    output reg              out_last
);

  // First the word is turned to where its octets go, and it is found out which are whose;

  reg [COUNT_W-2:0] filled;  // octets that wait
  reg flushes, was_final;

  wire [COUNT_W-1:0] sum = {1'b0, filled} + in_octets;
  wire overflows = sum > BYTES;
  wire [W-1:0] turned_next, turned_unused;
  assign {turned_next, turned_unused} = {in_word, in_word} << {filled, 3'd0};

  reg [W-1:0] turned;
  reg [BYTES-1:0] waiting, counts;  // octets that wait; those and the new ones
  reg emits, ends, brings;

  integer octet;
  always @(posedge clk) begin
    if (enable) begin
      turned <= turned_next;
      for (octet = 0; octet < BYTES; octet = octet + 1) begin
        waiting[octet] <= octet < filled;
        counts[octet] <= octet < sum;
      end
      brings <= |in_octets;
      emits <= flushes || in_final || sum >= BYTES;
      ends <= flushes || (in_final && !overflows);
      flushes <= in_final && overflows;
      was_final <= in_final;
      filled <= was_final ? {COUNT_W - 1{1'b0}} : sum[COUNT_W-2:0];
    end
    if (reset) begin
      {emits, brings, flushes, was_final} <= 4'b0000;
      filled <= {COUNT_W - 1{1'b0}};
    end
  end

  // then they are put together.

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
