// AES encryption of several blocks at a time in the hardware of one round (FIPS 197), C-slowed by SLOTS.
//
// A round takes SLOTS cycles. The registers between its parts hold one block each, and each block has its own key. On
// average a block enters every 10 (AES-128) or 14 (AES-256) cycles. It leaves 10 * SLOTS or 14 * SLOTS cycles later.
//
//   stage 0, the state  ->  S-box: forms  ->  1  ->  terms  ->  2  ->  inverse, products  ->  3  ->  sums, ShiftRows  ->
//   4  ->  MixColumns, round key, next block  ->  0
//
// An S-box in block RAM has the same number of registers: registers 1 and 2 are then inside the RAM.
//
// Nothing waits in this module. The core offers a slot LEAD cycles before it must know the key of the entering block.
// After accepting the offer, the user must provide the block in words of W bits, the last word exactly LEAD + 1 cycles
// after the offer. A result leaves in words as soon as it is available. The last round key is missing from the result:
// the user adds it word by word, which costs W exclusive ors instead of 128.
//
// The next state is MixColumns + round key + next block. If no block enters, the next block is zero. If a block enters,
// the register before MixColumns is cleared and the round key is the first one. The round therefore has no multiplexer.
`default_nettype none

module aes_cslow #(
    parameter W = 32,  // bits of a word: 32, 64 or 128
    parameter SBOX_RAM = 0,  // 1: the S-boxes are in block RAM
    parameter LEAD = 8,  // cycles from an offer to the block's key: at least 5, and LEAD mod 5 must not be 2
    parameter KEY_W = 5,  // bits of a key number
    parameter TAG_W = 3  // bits of the tag that identifies a result
) (
    input wire clk,
    input wire reset,

    output reg  offer,
    input  wire accept,  // accepts the offer, in the same cycle

    input wire             op_valid,  // a word of the block
    input wire [    W-1:0] op_word,
    input wire [KEY_W-1:0] op_key,    // one cycle before the last word: the key number,
    input wire             op_long,   // whether the key has 256 bits,
    input wire [TAG_W-1:0] op_tag,    // and the tag of the result

    output reg  [KEY_W+3:0] key_addr,  // key number and round: 0 to 9, for AES-256 0 to 13
    input  wire [    127:0] key_word,  // that round key, two cycles later

    output reg              result_valid,
    output reg  [    W-1:0] result_word,  // zero without a result
    output reg  [TAG_W-1:0] result_tag
);

  localparam SLOTS = 5;
  localparam EDGE = SLOTS - 4;  // the stage that decides what enters and leaves, three cycles before its round key is added
  localparam WORDS = 128 / W;

  // A slot is offered in the stage from which it reaches EDGE in LEAD cycles, OFFER_ROUNDS rounds later. Its acceptance
  // is known one stage later.
  localparam OFFER_STAGE = (EDGE + (SLOTS - 1) * LEAD) % SLOTS;
  localparam OFFER_ROUNDS = (OFFER_STAGE + LEAD - EDGE) / SLOTS;
  localparam [3:0] IDLE_ROUND = 4'd10 - OFFER_ROUNDS[3:0];

  // State of each slot. A slot without a block stays in the round in which it is offered.
  reg [      SLOTS-1:0] valid;
  reg [      SLOTS-1:0] booked;  // the slot's next block is on its way
  reg [      SLOTS-1:0] long;
  reg [    4*SLOTS-1:0] round;  // number of the round key that ends the round
  reg [KEY_W*SLOTS-1:0] key;
  reg [TAG_W*SLOTS-1:0] tag;

  // In stage EDGE: whether the block is in its last round; then whether a block enters, and whether one leaves.
  reg ends;
  wire enters = ends && booked[EDGE];
  wire leaves = ends && valid[EDGE];

  reg enters_soon, enters_now, none_enters, leaves_soon, leaves_now;
  reg [TAG_W-1:0] leaving_tag_soon, leaving_tag;

  // Next values of the stages.
  reg [SLOTS-1:0] valid_next, booked_next, long_next;
  reg [4*SLOTS-1:0] round_next;
  reg [KEY_W*SLOTS-1:0] key_next;
  reg [TAG_W*SLOTS-1:0] tag_next;
  reg accepted;
  wire [SLOTS-1:0] booked_now = booked | ({{SLOTS - 1{1'b0}}, accepted} << (OFFER_STAGE + 1));
  wire idles = !valid[SLOTS-1] && !booked_now[SLOTS-1];

  always @* begin
    valid_next = {valid[SLOTS-2:0], valid[SLOTS-1]};
    booked_next = {booked_now[SLOTS-2:0], booked_now[SLOTS-1]};
    long_next = {long[SLOTS-2:0], long[SLOTS-1]};
    round_next = {round[0+:4*(SLOTS-1)], round[4*(SLOTS-1)+:4] + {3'd0, !idles}};
    key_next = {key[0+:KEY_W*(SLOTS-1)], key[KEY_W*(SLOTS-1)+:KEY_W]};
    tag_next = {tag[0+:TAG_W*(SLOTS-1)], tag[TAG_W*(SLOTS-1)+:TAG_W]};
    if (ends) begin
      valid_next[EDGE+1] = booked[EDGE];
      booked_next[EDGE+1] = 1'b0;
      long_next[EDGE+1] = booked[EDGE] && op_long;
      round_next[4*(EDGE+1)+:4] = booked[EDGE] ? 4'd0 : IDLE_ROUND;
      key_next[KEY_W*(EDGE+1)+:KEY_W] = op_key;
      tag_next[TAG_W*(EDGE+1)+:TAG_W] = op_tag;
    end
  end

  always @(posedge clk) begin
    valid <= valid_next;
    booked <= booked_next;
    long <= long_next;
    round <= round_next;
    key <= key_next;
    tag <= tag_next;
    ends <= round_next[4*EDGE+:4] == (long_next[EDGE] ? 4'd14 : 4'd10);
    offer <= !booked_next[OFFER_STAGE] &&
        round_next[4*OFFER_STAGE+:4] == (long_next[OFFER_STAGE] ? IDLE_ROUND + 4'd4 : IDLE_ROUND);
    accepted <= accept;
    {enters_soon, enters_now} <= {enters, enters_soon};
    none_enters <= !enters_soon;
    {leaves_soon, leaves_now} <= {leaves, leaves_soon};
    {leaving_tag_soon, leaving_tag} <= {tag[TAG_W*EDGE+:TAG_W], leaving_tag_soon};
    if (reset) begin
      valid <= {SLOTS{1'b0}};
      booked <= {SLOTS{1'b0}};
      long <= {SLOTS{1'b0}};
      round <= {SLOTS{IDLE_ROUND}};
      ends <= 1'b0;
      offer <= 1'b0;
      accepted <= 1'b0;
      {enters_soon, enters_now, leaves_soon, leaves_now} <= 4'b0000;
    end
  end

  always @(posedge clk) key_addr <= enters ? {op_key, 4'd0} : {key[KEY_W*EDGE+:KEY_W], round[4*EDGE+:4]};

  // The entering block: its words are collected until it is complete, then it is in `next_block` for one cycle.
  reg [127:0] collected;
  reg [127:0] next_block;
  wire [127:0] collected_next;
  wire [W-1:0] oldest_unused;
  assign {collected_next, oldest_unused} = {op_word, collected};

  always @(posedge clk) begin
    if (op_valid) collected <= collected_next;
    next_block <= collected;
    if (none_enters) next_block <= 128'd0;
  end

  // The round.
  reg  [127:0] state;
  wire [127:0] substituted;
  wire [127:0] shifted;
  reg  [127:0] row_shifted;  // the last stage
  wire [127:0] mixed;

  genvar octet;
  generate
    if (SBOX_RAM == 1) begin : g_ram
      for (octet = 0; octet < 16; octet = octet + 2) begin : g_octets
        aes_sbox_ram sboxes (
            .clk(clk),
            .octets(state[8*octet+:16]),
            .substitutes(substituted[8*octet+:16])
        );
      end
    end else begin : g_logic
      for (octet = 0; octet < 16; octet = octet + 1) begin : g_octet
        aes_sbox_slow sbox (
            .clk(clk),
            .octet(state[8*octet+:8]),
            .substitute(substituted[8*octet+:8])
        );
      end
    end
  endgenerate

  aes_shift_rows shift_rows (
      .block(substituted),
      .shifted(shifted)
  );

  aes_mix_columns mix_columns (
      .block(row_shifted),
      .mixed(mixed)
  );

  always @(posedge clk) begin
    row_shifted <= shifted;
    if (enters_now) row_shifted <= 128'd0;
    state <= mixed ^ key_word ^ next_block;
  end

  // The result: loaded as a block, output in words.
  reg [127:0] result;
  reg [WORDS-1:0] is_word;  // the current word, one-hot

  integer word;
  always @* begin
    result_word = {W{1'b0}};
    for (word = 0; word < WORDS; word = word + 1)
      result_word = result_word | (result[W*word+:W] & {W{is_word[word]}});
  end

  always @(posedge clk) begin
    is_word <= is_word << 1;
    result_valid <= leaves_now || |(is_word << 1);
    if (leaves_now) begin
      result <= shifted;
      result_tag <= leaving_tag;
      is_word <= 1;
    end
    if (reset) {result_valid, is_word} <= {WORDS + 1{1'b0}};
  end

endmodule

`default_nettype wire
