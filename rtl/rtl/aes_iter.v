// AES-128 encryption at one round per cycle, of several blocks in lock-step under one key (FIPS 197).
//
// One key schedule computes the round keys of all lanes as they are used. Each round key is computed from the previous
// one: from the key itself in the cycle that takes the blocks, later from the result of the schedule.
//
//   cycle 0       start: blocks + key
//   cycles 1-10   busy: the rounds
//   cycle 11      the results are available until their lanes take the next blocks, in this cycle at the earliest
//
// The S-boxes are logic: a round within one cycle leaves no cycle for reading a block RAM.
`default_nettype none

module aes_iter #(
    parameter LANES = 1
) (
    input wire clk,
    input wire reset,

    input wire                 start,   // only when not busy
    input wire [        127:0] key,
    input wire [    LANES-1:0] take,    // lanes that take a block; the others keep their results
    input wire [128*LANES-1:0] blocks,

    output reg                  busy,
    output wire [128*LANES-1:0] results
);

  localparam [3:0] LAST_ROUND = 4'd10;

  reg [3:0] round;  // the current round, if busy
  reg is_last;
  reg mixes;  // busy, except in the last round
  reg [LANES-1:0] active;

  always @(posedge clk) begin
    busy <= start || (busy && !is_last);
    round <= busy ? round + 4'd1 : 4'd1;
    is_last <= busy && round == LAST_ROUND - 4'd1;
    mixes <= start || (busy && !is_last && round != LAST_ROUND - 4'd1);
    if (start) active <= take;
    if (reset) {busy, mixes} <= 2'b00;
  end

  // ---- Key schedule (FIPS 197, 5.2): the next round key

  reg [127:0] made_key;
  reg [7:0] made_rcon;
  wire [127:0] round_key = busy ? made_key : key;
  wire [7:0] rcon = busy ? made_rcon : 8'h01;

  wire [31:0] rotated = {round_key[103:96], round_key[127:104]};
  wire [31:0] substituted_word;

  genvar octet;
  generate
    for (octet = 0; octet < 4; octet = octet + 1) begin : g_key_octet
      aes_sbox sbox (
          .octet(rotated[8*octet+:8]),
          .substitute(substituted_word[8*octet+:8])
      );
    end
  endgenerate

  wire [31:0] sum_0 = round_key[31:0];
  wire [31:0] sum_1 = sum_0 ^ round_key[63:32];
  wire [31:0] sum_2 = sum_1 ^ round_key[95:64];
  wire [31:0] sum_3 = sum_2 ^ round_key[127:96];
  wire [31:0] added = substituted_word ^ {24'd0, rcon};

  always @(posedge clk)
    if (busy || start) begin
      made_key <= {sum_3 ^ added, sum_2 ^ added, sum_1 ^ added, sum_0 ^ added};
      made_rcon <= {rcon[6:0], 1'b0} ^ (rcon[7] ? 8'h1b : 8'h00);
    end

  // ---- Rounds

  genvar lane;
  generate
    for (lane = 0; lane < LANES; lane = lane + 1) begin : g_lane
      reg [127:0] state;
      wire [127:0] substituted, shifted, mixed;

      for (octet = 0; octet < 16; octet = octet + 1) begin : g_octet
        aes_sbox sbox (
            .octet(state[8*octet+:8]),
            .substitute(substituted[8*octet+:8])
        );
      end

      aes_shift_rows shift_rows (
          .block(substituted),
          .shifted(shifted)
      );

      aes_mix_columns mix_columns (
          .block(shifted),
          .mixed(mixed)
      );

      // The last round omits the terms that MixColumns adds to each octet, and taking a block omits the complete round.
      // Masked sums make shallower logic than multiplexers.
      wire [127:0] added_key = busy ? made_key : key ^ blocks[128*lane+:128];
      always @(posedge clk)
        if (busy ? active[lane] : start && take[lane])
          state <= ((shifted & {128{busy}}) ^ added_key) ^ ((mixed ^ shifted) & {128{mixes}});

      assign results[128*lane+:128] = state;
    end
  endgenerate

endmodule

`default_nettype wire
