// AES encryption with separate hardware for every round (FIPS 197): one block per cycle, each under its own key.
//
// The ports are those of aes_cslow with W = 128, but a slot is always free. A result is available 5 * ROUNDS + 1 cycles
// after its block. The last round key is missing from the result.
`default_nettype none

module aes_pipe #(
    parameter ROUNDS = 10,  // 10: AES-128, 14: AES-256
    parameter KEY_W = 5,
    parameter TAG_W = 6
) (
    input wire clk,
    input wire reset,

    output wire offer,

    input wire             op_valid,
    input wire [    127:0] op_word,
    input wire [KEY_W-1:0] op_key,   // one cycle before the block, like op_tag
    input wire [TAG_W-1:0] op_tag,

    // For the initial addition and for each round except the last: key number, and two cycles later the round key.
    output wire [KEY_W*ROUNDS-1:0] key_addr,
    input  wire [  128*ROUNDS-1:0] key_word,

    output reg              result_valid,
    output reg  [    127:0] result_word,
    output wire [TAG_W-1:0] result_tag
);

  localparam STAGES = 5;
  localparam DEPTH = STAGES * ROUNDS + 1;  // from the block's first register to the result's
  localparam KEYS = STAGES * (ROUNDS - 1);  // up to the round before the last one

  assign offer = 1'b1;

  // The key number comes one cycle before the block, so the block waits one cycle for its first round key.
  reg [127:0] first;
  reg [KEY_W*KEYS-1:0] keys;
  reg [DEPTH-2:0] valid;

  always @(posedge clk) begin
    first <= op_word;
    keys <= {keys[KEY_W*(KEYS-1)-1:0], op_key};
    valid <= {valid[DEPTH-3:0], op_valid};
    if (reset) valid <= {DEPTH - 1{1'b0}};
  end

  wire [128*ROUNDS-1:0] states;
  reg [127:0] state_0;
  always @(posedge clk) state_0 <= first ^ key_word[127:0];
  assign key_addr[KEY_W-1:0] = op_key;
  assign states[127:0] = state_0;

  genvar round, octet;
  generate
    for (round = 1; round <= ROUNDS; round = round + 1) begin : g_round
      wire [127:0] state = states[128*(round-1)+:128];
      wire [127:0] substituted, shifted;

      for (octet = 0; octet < 16; octet = octet + 1) begin : g_octet
        aes_sbox_slow sbox (
            .clk(clk),
            .octet(state[8*octet+:8]),
            .substitute(substituted[8*octet+:8])
        );
      end

      aes_shift_rows shift_rows (
          .block(substituted),
          .shifted(shifted)
      );

      if (round < ROUNDS) begin : g_mixed
        reg [127:0] row_shifted, next;
        wire [127:0] mixed;
        aes_mix_columns mix_columns (
            .block(row_shifted),
            .mixed(mixed)
        );
        always @(posedge clk) begin
          row_shifted <= shifted;
          next <= mixed ^ key_word[128*round+:128];
        end
        assign states[128*round+:128] = next;
        assign key_addr[KEY_W*round+:KEY_W] = keys[KEY_W*(STAGES*round-1)+:KEY_W];
      end else begin : g_last
        always @(posedge clk) result_word <= shifted;
      end
    end
  endgenerate

  always @(posedge clk) result_valid <= valid[DEPTH-2] && !reset;

  ring #(
      .DEPTH(DEPTH + 1),
      .WIDTH(TAG_W)
  ) tags (
      .clk(clk),
      .reset(reset),
      .turn(1'b1),
      .in(op_tag),
      .out(result_tag)
  );

endmodule

`default_nettype wire
