// CCM (RFC 3610, as used by CCMP) for many MPDUs at a time, one block of each in turn.
//
// CBC-MAC is a chain within a frame, but chains of different frames are independent, so the AES cores can process blocks
// of several frames at a time. FRAMES frames are in progress, each with two blocks, one of CBC-MAC and one of CTR. The
// sequencer visits them in a circle. With enough frames the AES cores are always busy.
//
// A frame in memory is a sequence of blocks: AAD 1, AAD 2, payload 1 to n, and the block after the payload. Each visit
// advances a frame by one step (S is a block of CTR, X a block of CBC-MAC):
//
//   step     block of CTR                    block of CBC-MAC
//   -1       B0, whose result is an X        -
//   0        -                               X ^ AAD 1
//   1        counter 1, or 0 if n is 0       X ^ AAD 2
//   1 + k    counter k + 1, or 0 if k is n   X ^ payload k; payload k ^ S goes to memory
//   2 + n    -                               -; X ^ S is the MIC, and the block after the payload goes to memory
//
// `step` is therefore the counter, and added to `base` it is the block's address.
//
// The words of a block, of W bits each, pass through the same seven cycles one after another:
//
//   0  decide: which operation, for which frame, into which AES core's slot
//   0' (the decision is in registers)
//   1  addresses: the frame's block, its S and X, its nonce, the last round key of its key
//   2  (memory)
//   3  S and X get the last round key; octets of S after the end of the payload are masked
//   4  the next input of CBC-MAC, or the counter block; the sealed or opened payload
//   5  to the AES core, and to memory
//
// Sealing and opening differ only in one point: CBC-MAC takes the payload before or after S is added.
`default_nettype none

module ccm_turns #(
    parameter W = 32,
    parameter CORES = 1,
    parameter FRAMES = 5,   // in progress at a time
    parameter LAG = 20,     // additional cycles of an AES core for CCMP-256
    parameter SLOT_W = 4,   // bits of a frame's slot number
    parameter KEY_W = 5,
    parameter BLOCK_W = 10, // bits of a block address
    // Derived: do not set.
    parameter WORDS = 128 / W,
    parameter WORD_W = W == 128 ? 1 : $clog2(WORDS),
    parameter FRAME_W = $clog2(FRAMES),
    parameter TAG_W = FRAME_W + 1
) (
    input wire clk,
    input wire reset,

    // A frame in memory.
    input  wire               job_valid,
    output wire               job_ready,
    input  wire [   SLOT_W:0] job_slot,
    input  wire [BLOCK_W-1:0] job_base,   // AAD 1
    input  wire [        9:0] job_last,   // the step of its last block: 1 + payload blocks
    input  wire [        3:0] job_tail,   // the last octet of the payload in that block,
    input  wire [        3:0] job_aad,    // and the last octet of the AAD in AAD 2
    input  wire [  KEY_W-1:0] job_key,
    input  wire               job_long,   // CCMP-256
    input  wire               job_open,

    output reg               done_valid,  // its payload and its MIC are in memory
    output reg  [  SLOT_W:0] done_slot,

    // Memories, with a read latency of two cycles.
    output wire [BLOCK_W-1:0] block_addr,
    output wire [ WORD_W-1:0] word_addr,      // for all reads
    input  wire [      W-1:0] block_word,
    output wire [ SLOT_W-1:0] nonce_addr,
    input  wire [      W-1:0] nonce_word,     // octets 1 to 13 of the nonce, then the payload's length
    output wire [  KEY_W-1:0] last_key_addr,
    input  wire [      W-1:0] last_key_word,
    output reg                out_write,
    output wire [BLOCK_W-1:0] out_block,
    output wire [ WORD_W-1:0] out_word_addr,  // also for the MIC
    output wire [      W-1:0] out_word,
    output reg                mic_write,
    output wire [ SLOT_W-1:0] mic_slot,
    output wire [      W-1:0] mic_word,

    // The AES cores.
    input  wire [CORES-1:0] offer,
    output wire [CORES-1:0] accept,
    output reg  [CORES-1:0] op_valid,
    output wire [    W-1:0] op_word,
    output wire [KEY_W-1:0] op_key,
    output wire             op_long,
    output wire [TAG_W-1:0] op_tag,
    input  wire             result_valid,  // of at most one core
    input  wire [    W-1:0] result_word,
    input  wire [TAG_W-1:0] result_tag
);

  localparam [31:0] LAST_WORD = WORDS - 1, HOLD = LAG + WORDS;

  // Blocks are counted when they enter the cores and when they leave, in the same order. A frame is ready when the count
  // of leaving blocks has reached the count of its own last block (its stamp).
  localparam COUNT_W = 8;

  // ---- 0: decide
  //
  // Only the flags of the visit, which decide, advance in the cycle of the decision. A frame's other state follows one
  // cycle later, through the ring: from `other` to `next`, which determines whether this is the frame's last block, to the
  // visit, and back into the ring.

  localparam STATE_W = COUNT_W + 6 + 10 + 10 + 4 + 4 + 2 + KEY_W + BLOCK_W + SLOT_W + 1;
  localparam REST_W = 1 + KEY_W + BLOCK_W + SLOT_W + 1;

  wire [STATE_W-1:0] other;
  wire [COUNT_W-1:0] other_stamp = other[STATE_W-1-:COUNT_W];

  reg [STATE_W-1:0] next;
  wire [COUNT_W-1:0] stamp_unused;
  wire next_live, start_unused, next_aad_1, next_aad_2, next_payload, next_mic;
  wire [9:0] next_step, next_last;
  wire [7:0] tails_unused;
  wire next_long;
  wire [REST_W-1:0] rest_unused;
  assign {stamp_unused, next_live, start_unused, next_aad_1, next_aad_2, next_payload, next_mic, next_step, next_last,
      tails_unused, next_long, rest_unused} = next;
  reg other_is_ready, next_is_ready, next_is_last;

  // The visit.
  reg is_live, is_ready, may_start;  // flags
  reg second;  // the next operation is the second half: CBC-MAC or MIC,
  reg only;  // the visit ends with it,
  reg only_mic;  // it is the MIC, which requires no AES core
  reg is_long;
  reg [COUNT_W-1:0] stamp;
  reg live, start, aad_1, aad_2, payload, mic;
  reg [9:0] step, last;
  reg [3:0] tail, aad;
  reg long, open;
  reg [KEY_W-1:0] key;
  reg [BLOCK_W-1:0] base;
  reg [SLOT_W:0] slot;
  reg is_last;

  reg [FRAME_W-1:0] frame;
  reg [COUNT_W-1:0] taken, completed;
  wire [COUNT_W-1:0] ahead = completed - stamp, other_ahead = completed - other_stamp;
  reg path_free;
  reg [WORD_W:0] path_left;
  reg held;  // a block of AES-256 was issued one cycle ago
  reg holds;
  reg [4:0] hold;

  wire [CORES-1:0] first_offer = offer & (~offer + 1'b1);
  assign accept = may_start && path_free && !only_mic ? first_offer : {CORES{1'b0}};
  wire starts = may_start && path_free && (only_mic || |offer);
  wire issues = may_start && path_free && !only_mic && |offer;
  reg turned, turned_before, takes_job, moves;  // `moves`: one of turned and takes_job
  reg results_out;  // of the visited frame, one cycle ago
  wire is_free = !is_live && !moves;  // the visited place
  reg job_waits;  // one cycle ago
  // When a frame ends with its MIC, a waiting job takes its place immediately.
  wire ends = may_start && path_free && only_mic;
  wire vacant = is_free || ends;
  wire turns = (starts && only && !(only_mic && job_waits)) || (is_free && !job_waits);
  assign job_ready = takes_job;

  wire in_text = aad_2 || payload;

  ring #(
      .DEPTH(FRAMES - 2),
      .WIDTH(STATE_W)
  ) others (
      .clk(clk),
      .reset(reset),
      .turn(turned),
      // If the visit ended with a block, `taken` already includes that block.
      .in({
        taken, live && !mic, 1'b0, start, aad_1, in_text && !is_last, in_text && is_last, step + 10'd1, last, tail, aad,
        long, open, key, base, slot
      }),
      .out(other)
  );

  always @(posedge clk) begin
    other_is_ready <= !other_ahead[COUNT_W-1];
    next_is_last <= next_step == next_last;
    turned <= turns;
    job_waits <= job_valid && !job_ready;
    takes_job <= vacant && job_waits;
    moves <= turns || (vacant && job_waits);

    // A shorter encryption must not overtake a longer one, nor leave at the same time.
    may_start <= is_live && is_ready && (is_long || !holds) && !ends;
    results_out <= !ahead[COUNT_W-1];
    turned_before <= turned;
    if (!turned && !turned_before) is_ready <= is_ready || results_out;
    if (starts) {second, only} <= 2'b11;
    if (turns) begin
      is_live <= next_live;
      is_ready <= next_is_ready;
      second <= next_aad_1 || next_mic;
      only <= !next_aad_2 && !next_payload;
      only_mic <= next_mic;
      is_long <= next_long;
      // With W = 128 there is a visit every second cycle.
      may_start <= W == 128 && next_live && next_is_ready && (next_aad_2 || next_payload) &&
          (next_long || !(holds || (issues && is_long)));
    end
    if (turned) begin
      next <= other;
      next_is_ready <= other_is_ready;
      {stamp, live, start, aad_1, aad_2, payload, mic, step, last, tail, aad, long, open, key, base, slot} <= next;
      is_last <= next_is_last;
      frame <= frame == FRAMES - 1 ? {FRAME_W{1'b0}} : frame + 1'b1;
    end
    if (takes_job) begin
      may_start <= !holds;
      {is_live, is_ready, second, only, only_mic, is_long} <= {5'b11010, job_long};
      {live, start, aad_1, aad_2, payload, mic} <= 6'b110000;
      {step, last, tail, aad, long, open} <= {~10'd0, job_last, job_tail, job_aad, job_long, job_open};
      {key, base, slot} <= {job_key, job_base, job_slot};
      is_last <= 1'b0;
    end
    if (issues) taken <= taken + 1'b1;
    if (W != 128) begin
      path_free <= starts ? 1'b0 : path_left == 1 || path_free;
      path_left <= starts ? LAST_WORD[WORD_W:0] : path_left - 1'b1;
    end
    held <= issues && is_long;
    holds <= issues && is_long || held || hold != 5'd0;
    if (held) hold <= HOLD[4:0] - 5'd1;
    else if (hold != 5'd0) hold <= hold - 5'd1;
    if (reset) begin
      {turned, takes_job, job_waits, moves} <= 4'b0000;
      next <= {STATE_W{1'b0}};
      is_live <= 1'b0;
      live <= 1'b0;
      may_start <= 1'b0;
      frame <= {FRAME_W{1'b0}};
      taken <= {COUNT_W{1'b0}};
      path_free <= 1'b1;
      {held, holds} <= 2'b00;
      hold <= 5'd0;
    end
  end

  // ---- 1: addresses

  wire [BLOCK_W+9:0] step_unused_above = {{BLOCK_W{1'b0}}, step};
  reg started, started_second;
  reg [CORES-1:0] started_core;
  reg run_1;
  reg [WORD_W-1:0] word_1;
  reg [CORES-1:0] core_1;
  reg [KEY_W-1:0] key_1;
  reg long_1;
  reg [TAG_W-1:0] tag_1;
  reg [SLOT_W:0] slot_1;
  reg [BLOCK_W-1:0] block_1;
  reg is_ctr_1, is_mic_1, is_payload_1, open_1;
  reg [3:0] end_1;  // the last valid octet of the block; after the payload no octet is valid
  reg is_b0_1;
  reg [9:0] counter_1;
  wire [FRAME_W-1:0] frame_1 = tag_1[TAG_W-1:1];

  always @(posedge clk) begin
    started <= starts;
    started_second <= second;
    started_core <= first_offer;
    run_1 <= started || (W != 128 && run_1 && word_1 != LAST_WORD);
    word_1 <= started || W == 128 ? {WORD_W{1'b0}} : word_1 + 1'b1;
    // The started operation stays here until its last word has passed.
    if (started) begin
      core_1 <= started_core;
      key_1 <= key;
      long_1 <= long;
      tag_1 <= {frame, started_second || start};
      slot_1 <= slot;
      block_1 <= base + step_unused_above[BLOCK_W-1:0];
      is_ctr_1 <= !started_second;
      is_mic_1 <= mic;
      is_payload_1 <= started_second && payload;
      open_1 <= open;
      end_1 <= aad_2 ? aad : payload && is_last ? tail : 4'd15;
      is_b0_1 <= start;
      counter_1 <= is_last ? 10'd0 : step;
    end
    if (reset) {started, run_1} <= 2'b00;
  end

  assign block_addr = block_1;
  assign word_addr = word_1;
  assign nonce_addr = slot_1[SLOT_W-1:0];
  assign last_key_addr = key_1;

  // ---- 2, 3: contents of the memories, and which of their octets are valid

  localparam BYTES = W / 8;

  reg [BYTES-1:0] keep_2, keep_3, keep_4;
  reg [BYTES-1:0] adds_ctr_3;  // octets of S that CBC-MAC adds: for ciphertext, and for the MIC
  reg run_2, run_3, run_4;
  reg [WORD_W-1:0] word_2, word_3, word_4, word_5;
  reg is_ctr_2, is_ctr_3, is_mic_2, is_mic_3, is_mic_4;
  reg is_payload_2, is_payload_3, is_payload_4;
  reg open_2;
  reg long_2, long_3, long_4;
  reg is_b0_2, is_b0_3;
  reg [9:0] counter_2, counter_3;
  reg [BLOCK_W-1:0] block_2, block_3, block_4, block_5;
  reg [SLOT_W:0] slot_2, slot_3, slot_4, slot_5;
  reg [CORES-1:0] core_2, core_3, core_4;
  reg [KEY_W-1:0] key_2, key_3, key_4;
  reg [TAG_W-1:0] tag_2, tag_3, tag_4;

  integer octet;
  always @(posedge clk) begin
    for (octet = 0; octet < BYTES; octet = octet + 1)
      keep_2[octet] <= !is_mic_1 && (W == 128 ? 0 : word_1 * BYTES) + octet <= end_1;
    keep_3 <= keep_2;
    keep_4 <= is_ctr_3 ? {BYTES{1'b0}} : keep_3;
    adds_ctr_3 <= (keep_2 & {BYTES{open_2 && is_payload_2}}) | {BYTES{is_mic_2}};
    {run_2, run_3, run_4} <= {run_1, run_2, run_3};
    {word_2, word_3, word_4, word_5} <= {word_1, word_2, word_3, word_4};
    {is_ctr_2, is_ctr_3} <= {is_ctr_1, is_ctr_2};
    {is_mic_2, is_mic_3, is_mic_4} <= {is_mic_1, is_mic_2, is_mic_3};
    {is_payload_2, is_payload_3, is_payload_4} <= {is_payload_1, is_payload_2, is_payload_3};
    open_2 <= open_1;
    {long_2, long_3, long_4} <= {long_1, long_2, long_3};
    {is_b0_2, is_b0_3} <= {is_b0_1, is_b0_2};
    {counter_2, counter_3} <= {counter_1, counter_2};
    {block_2, block_3, block_4, block_5} <= {block_1, block_2, block_3, block_4};
    {slot_2, slot_3, slot_4, slot_5} <= {slot_1, slot_2, slot_3, slot_4};
    {core_2, core_3, core_4} <= {core_1, core_2, core_3};
    {key_2, key_3, key_4} <= {key_1, key_2, key_3};
    {tag_2, tag_3, tag_4} <= {tag_1, tag_2, tag_3};
    if (reset) {run_2, run_3, run_4} <= 3'd0;
  end

  wire [W-1:0] ctr_word, cbc_word;  // S and X, without the last round key

  // The nonce, completed to a counter block or to B0 (RFC 3610 sections 2.2 and 2.3, M = 8 or 16 octets, L = 2).
  reg [W-1:0] initial_block;
  always @* begin
    initial_block = nonce_word;
    if (W == 128 || word_3 == 0) initial_block[7:0] = !is_b0_3 ? 8'h01 : long_3 ? 8'h79 : 8'h59;
    if ((W == 128 || word_3 == LAST_WORD) && !is_b0_3)
      initial_block[W-16+:16] = {counter_3[7:0], 6'd0, counter_3[9:8]};
  end

  // A mask of the bits of the octets.
  function automatic [W-1:0] bits(input [BYTES-1:0] octets);
    integer at;
    for (at = 0; at < BYTES; at = at + 1) bits[8*at+:8] = {8{octets[at]}};
  endfunction

  // ---- 4: the next input of CBC-MAC, the counter block, or the MIC; the sealed or opened payload

  reg [W-1:0] cbc_4, ctr_4, initial_4, block_4_word;

  always @(posedge clk) begin
    // If S and X are added, their last round keys cancel.
    cbc_4 <= cbc_word ^ (bits(adds_ctr_3) & ctr_word) ^ (~bits(adds_ctr_3) & last_key_word);
    ctr_4 <= (ctr_word ^ last_key_word) & bits(keep_3);
    initial_4 <= initial_block;
    block_4_word <= block_word;
    if (is_ctr_3) cbc_4 <= {W{1'b0}};
    else initial_4 <= {W{1'b0}};
    if (!is_payload_3) ctr_4 <= {W{1'b0}};
  end

  // ---- 5: out

  reg [W-1:0] made_5, payload_5;

  always @(posedge clk) begin
    made_5 <= cbc_4 ^ initial_4 ^ (block_4_word & bits(keep_4));
    payload_5 <= block_4_word ^ ctr_4;
    out_write <= run_4 && (is_payload_4 || is_mic_4) && !reset;
    mic_write <= run_4 && is_mic_4 && !reset;
    op_valid <= run_4 && !is_mic_4 && !reset ? core_4 : {CORES{1'b0}};
  end

  assign op_word = made_5;
  // The cores require these one cycle before the word.
  assign op_key = key_4;
  assign op_long = long_4;
  assign op_tag = tag_4;

  assign out_block = block_5;
  assign out_word_addr = word_5;
  assign out_word = payload_5;
  assign mic_slot = slot_5[SLOT_W-1:0];
  assign mic_word = made_5;

  always @(posedge clk) begin
    done_valid <= mic_write && (W == 128 || word_5 == LAST_WORD);
    done_slot <= slot_5;
    if (reset) done_valid <= 1'b0;
  end

  // ---- results

  reg result_run, ctr_result, cbc_result;  // there is a word of a result: of S, or of X
  reg result_ends;  // it is the last word of its block
  reg [W-1:0] result_held;
  reg [FRAME_W-1:0] result_for;
  reg [WORD_W-1:0] result_at;
  wire [WORD_W-1:0] result_at_next = !result_run ? result_at : result_ends ? {WORD_W{1'b0}} : result_at + 1'b1;

  always @(posedge clk) begin
    result_run <= result_valid;
    ctr_result <= result_valid && !result_tag[0];
    cbc_result <= result_valid && result_tag[0];
    result_held <= result_word;
    result_for <= result_tag[TAG_W-1:1];
    result_at <= result_at_next;
    result_ends <= result_valid && (W == 128 || result_at_next == LAST_WORD);
    completed <= completed + {{(COUNT_W - 1) {1'b0}}, result_ends};
    if (reset) begin
      {result_run, ctr_result, cbc_result, result_ends} <= 4'b0000;
      result_at <= {WORD_W{1'b0}};
      completed <= {COUNT_W{1'b0}};
    end
  end

  localparam RESULT_W = W == 128 ? FRAME_W : FRAME_W + WORD_W;
  wire [RESULT_W-1:0] held_addr, read_addr;
  generate
    if (W == 128) begin : g_blocks
      assign held_addr = result_for;
      assign read_addr = frame_1;
    end else begin : g_words
      assign held_addr = {result_for, result_at};
      assign read_addr = {frame_1, word_1};
    end
  endgenerate

  ram_sdp #(
      .WIDTH(W),
      .DEPTH(1 << RESULT_W)
  ) ctr_results (
      .clk(clk),
      .write(ctr_result),
      .write_addr(held_addr),
      .write_data(result_held),
      .enable(1'b1),
      .read_addr(read_addr),
      .read_data(ctr_word)
  );

  ram_sdp #(
      .WIDTH(W),
      .DEPTH(1 << RESULT_W)
  ) cbc_results (
      .clk(clk),
      .write(cbc_result),
      .write_addr(held_addr),
      .write_data(result_held),
      .enable(1'b1),
      .read_addr(read_addr),
      .read_data(cbc_word)
  );

endmodule

`default_nettype wire
