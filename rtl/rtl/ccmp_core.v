// Seals (encrypts) and opens (decrypts) complete MPDUs under CCMP-128 and CCMP-256 (IEEE 802.11-2020 12.5.3).
//
//   s  MPDUs without FCS; to seal: MAC header and payload; to open: MAC header, CCMP header, ciphertext and MIC
//   v  one verdict per MPDU, in the order of s
//   m  MPDUs with verdict 0, sealed or opened, each after its verdict; no octet of any other MPDU leaves the core
//   k  keys: see key_table
//
// mpdu_in writes frames to memory, ccm_turns interleaves them in the AES cores, mpdu_out verifies and sends them. ccm_lanes
// can replace ccm_turns for comparison: it processes one frame at a time. The core assigns the packet numbers of sealed
// frames, one more than the last number with the key. Packet numbers of opened frames must increase within a priority.
`default_nettype none

module ccmp_core #(
    parameter W = 32,  // bits of a word, in the streams and inside: 32, 64 or 128
    parameter CORES = 1,  // number of AES cores with the hardware of one round
    parameter PIPELINE = 0,  // 1: one AES core with all rounds; requires W = 128, supports only 128-bit keys
    parameter LANES = -1,  // 0 or more: ccm_lanes, one frame at a time; supports only 128-bit keys
    parameter REPAIRED = 1,  // MIC with two or more lanes: see ccm_lanes
    parameter SBOX_RAM = 0,  // 1: the S-boxes of the one-round AES cores are in block RAM
    parameter FRAMES = 5,  // frames interleaved in the cores, at least 3; five keep one core busy
    parameter KEY_W = 5,  // keys: 2^KEY_W
    parameter SLOT_W = 4,  // frames in memory: 2^SLOT_W
    parameter BLOCK_W = 10,  // 16-octet blocks in each of the two frame memories: 2^BLOCK_W
    parameter TAG_W = 8,  // bits of user data that accompany each frame
    parameter COUNT_W = 32,  // bits of a verdict counter, at most 32
    parameter MAX_OCTETS = 8064,  // longest MPDU, a multiple of 16, at most 16 * (2^BLOCK_W - 10)
    // Derived: do not set.
    parameter BYTES = W / 8
) (
    input wire clk,
    input wire reset,

    input  wire             s_valid,
    output wire             s_ready,
    input  wire [    W-1:0] s_data,
    input  wire [BYTES-1:0] s_keep,
    input  wire             s_last,
    input  wire             s_open,
    input  wire [KEY_W-1:0] s_key,
    input  wire [TAG_W-1:0] s_tag,

    output wire             v_valid,
    input  wire             v_ready,
    output wire [      3:0] v_verdict,
    output wire             v_open,
    output wire [KEY_W-1:0] v_key,
    output wire [TAG_W-1:0] v_tag,

    output wire             m_valid,
    input  wire             m_ready,
    output wire [    W-1:0] m_data,
    output wire [BYTES-1:0] m_keep,
    output wire             m_last,
    output wire             m_open,
    output wire [KEY_W-1:0] m_key,
    output wire [TAG_W-1:0] m_tag,

    input  wire        k_valid,
    output wire        k_ready,
    input  wire [31:0] k_data,
    input  wire        k_last,
    output wire        k_error,

    input  wire [ 3:0] count_addr,
    output wire        count_ready,
    output wire [31:0] count
);

  localparam WORDS = 128 / W;
  localparam WORD_W = W == 128 ? 1 : $clog2(WORDS);
  localparam HEAD_WORDS = 48 / BYTES;
  localparam HEAD_W = $clog2(HEAD_WORDS);
  localparam FRAME_W = $clog2(FRAMES);
  localparam OP_TAG_W = FRAME_W + 1;
  localparam INFO_W = 4 + 1 + 1 + 6 + 14 + KEY_W + 2 + TAG_W + BLOCK_W + 1 + 5 + 48;

  // Unsupported parameters fail elaboration: they instantiate an undefined module whose name states the problem.
  generate
    if (MAX_OCTETS > 16 * ((1 << BLOCK_W) - 10) || MAX_OCTETS % 16 != 0) begin : g_max_octets
      ccmp_core_needs_more_blocks_for_MAX_OCTETS refused ();
    end
    if (W != 32 && W != 64 && W != 128 || PIPELINE == 1 && W != 128) begin : g_w
      ccmp_core_has_no_such_W refused ();
    end
    if (LANES < 0 && FRAMES < 3) begin : g_frames
      ccmp_core_needs_more_FRAMES refused ();
    end
  endgenerate

  // Address bits that select the word within a block.
  localparam IN_BLOCK_W = W == 128 ? 0 : WORD_W;

  wire pause, empty;

  // ---- Keys

  wire [KEY_W-1:0] key;
  wire key_known, key_long, key_pn_write;
  wire [1:0] key_id;
  wire [47:0] key_pn, key_pn_next;
  wire [KEY_W-1:0] replay_key;
  wire [4:0] replay_priority;
  wire [47:0] replay_pn, replay_pn_next;
  wire replay_write;
  wire round_key_write, last_key_write;
  wire [KEY_W+3:0] round_key_addr;
  wire [127:0] round_key_word;
  wire [KEY_W-1:0] last_key_addr;
  wire [WORD_W-1:0] last_key_word_addr;
  wire [W-1:0] last_key_word;

  key_table #(
      .W(W),
      .KEY_W(KEY_W),
      .LONG_KEYS(PIPELINE == 0 && LANES < 0)
  ) table_of_keys (
      .clk(clk),
      .reset(reset),
      .k_valid(k_valid),
      .k_ready(k_ready),
      .k_data(k_data),
      .k_last(k_last),
      .k_error(k_error),
      .pause(pause),
      .empty(empty),
      .key(key),
      .key_known(key_known),
      .key_long(key_long),
      .key_id(key_id),
      .key_pn(key_pn),
      .key_pn_write(key_pn_write),
      .key_pn_next(key_pn_next),
      .replay_key(replay_key),
      .replay_priority(replay_priority),
      .replay_pn(replay_pn),
      .replay_write(replay_write),
      .replay_pn_next(replay_pn_next),
      .round_key_write(round_key_write),
      .round_key_addr(round_key_addr),
      .round_key_word(round_key_word),
      .last_key_write(last_key_write),
      .last_key_addr(last_key_addr),
      .last_key_word_addr(last_key_word_addr),
      .last_key_word(last_key_word)
  );

  // ---- In

  wire in_block_write, in_head_write, in_nonce_write;
  wire [BLOCK_W-1:0] in_block_addr;
  wire [WORD_W-1:0] in_block_word_addr, in_nonce_word_addr;
  wire [W-1:0] in_block_word, in_head_word, in_nonce_word;
  wire [HEAD_W-1:0] in_head_word_addr;
  wire [SLOT_W-1:0] in_slot;
  wire [BLOCK_W:0] oldest_block, frame_end;
  wire [SLOT_W:0] oldest_slot;
  wire frame_valid, frame_open, frame_long;
  wire [1:0] frame_id;
  wire [3:0] frame_verdict;
  wire [5:0] frame_header_end;
  wire [13:0] frame_payload_end;
  wire [TAG_W-1:0] frame_tag;
  wire job_valid, job_ready;
  wire [BLOCK_W-1:0] job_base;
  wire [9:0] job_last;
  wire [3:0] job_tail, job_aad;
  wire [SLOT_W:0] job_slot;
  wire [KEY_W-1:0] job_key;
  wire job_long, job_open;
  wire [4:0] frame_tid;
  wire [47:0] frame_pn;

  mpdu_in #(
      .W(W),
      .SLOT_W(SLOT_W),
      .KEY_W(KEY_W),
      .BLOCK_W(BLOCK_W),
      .TAG_W(TAG_W),
      .MAX_OCTETS(MAX_OCTETS)
  ) in (
      .clk(clk),
      .reset(reset),
      .s_valid(s_valid),
      .s_ready(s_ready),
      .s_data(s_data),
      .s_keep(s_keep),
      .s_last(s_last),
      .s_open(s_open),
      .s_key(s_key),
      .s_tag(s_tag),
      .pause(pause),
      .empty(empty),
      .key(key),
      .key_known(key_known),
      .key_long(key_long),
      .key_id(key_id),
      .key_pn(key_pn),
      .key_pn_write(key_pn_write),
      .key_pn_next(key_pn_next),
      .block_write(in_block_write),
      .block_addr(in_block_addr),
      .block_word_addr(in_block_word_addr),
      .block_word(in_block_word),
      .head_write(in_head_write),
      .head_word_addr(in_head_word_addr),
      .head_word(in_head_word),
      .nonce_write(in_nonce_write),
      .nonce_word_addr(in_nonce_word_addr),
      .nonce_word(in_nonce_word),
      .slot(in_slot),
      .oldest_block(oldest_block),
      .oldest_slot(oldest_slot),
      .frame_valid(frame_valid),
      .frame_verdict(frame_verdict),
      .frame_open(frame_open),
      .frame_long(frame_long),
      .frame_id(frame_id),
      .frame_header_end(frame_header_end),
      .frame_payload_end(frame_payload_end),
      .frame_tid(frame_tid),
      .frame_pn(frame_pn),
      .frame_tag(frame_tag),
      .frame_end(frame_end),
      .job_valid(job_valid),
      .job_ready(job_ready),
      .job_slot(job_slot),
      .job_base(job_base),
      .job_last(job_last),
      .job_tail(job_tail),
      .job_aad(job_aad),
      .job_key(job_key),
      .job_long(job_long),
      .job_open(job_open)
  );

  // ---- CCM

  wire done_valid;
  wire [SLOT_W:0] done_slot;
  wire [SLOT_W-1:0] ccm_nonce_addr, mic_slot;
  wire [BLOCK_W-1:0] ccm_block_addr, out_block;
  wire [WORD_W-1:0] ccm_word_addr, out_word_addr;
  wire [W-1:0] ccm_block_word, ccm_nonce_word, ccm_last_key_word, out_word, mic_word;
  wire [KEY_W-1:0] ccm_last_key_addr;
  wire out_write, mic_write;
  wire [CORES-1:0] offer, accept, op_valid;
  wire [W-1:0] op_word;
  wire [KEY_W-1:0] op_key;
  wire op_long;
  wire [OP_TAG_W-1:0] op_tag;
  wire [CORES-1:0] result_valid_of;
  wire [CORES*W-1:0] result_word_of;
  wire [CORES*OP_TAG_W-1:0] result_tag_of;
  reg [W-1:0] result_word;
  reg [OP_TAG_W-1:0] result_tag;

  generate
    if (LANES < 0) begin : g_turns
      ccm_turns #(
          .W(W),
          .CORES(CORES),
          .FRAMES(FRAMES),
          .SLOT_W(SLOT_W),
          .KEY_W(KEY_W),
          .BLOCK_W(BLOCK_W)
      ) frames_in_turn (
          .clk(clk),
          .reset(reset),
          .job_valid(job_valid),
          .job_ready(job_ready),
          .job_slot(job_slot),
          .job_base(job_base),
          .job_last(job_last),
          .job_tail(job_tail),
          .job_aad(job_aad),
          .job_key(job_key),
          .job_long(job_long),
          .job_open(job_open),
          .done_valid(done_valid),
          .done_slot(done_slot),
          .block_addr(ccm_block_addr),
          .word_addr(ccm_word_addr),
          .block_word(ccm_block_word),
          .nonce_addr(ccm_nonce_addr),
          .nonce_word(ccm_nonce_word),
          .last_key_addr(ccm_last_key_addr),
          .last_key_word(ccm_last_key_word),
          .out_write(out_write),
          .out_block(out_block),
          .out_word_addr(out_word_addr),
          .out_word(out_word),
          .mic_write(mic_write),
          .mic_slot(mic_slot),
          .mic_word(mic_word),
          .offer(offer),
          .accept(accept),
          .op_valid(op_valid),
          .op_word(op_word),
          .op_key(op_key),
          .op_long(op_long),
          .op_tag(op_tag),
          .result_valid(|result_valid_of),
          .result_word(result_word),
          .result_tag(result_tag)
      );
    end
  endgenerate

  integer core;
  always @* begin
    result_word = {W{1'b0}};
    result_tag = {OP_TAG_W{1'b0}};
    for (core = 0; core < CORES; core = core + 1) begin
      result_word = result_word | result_word_of[W*core+:W];
      if (result_valid_of[core]) result_tag = result_tag | result_tag_of[OP_TAG_W*core+:OP_TAG_W];
    end
  end

  genvar c;
  generate
    if (LANES >= 0) begin : g_lanes
      wire [KEY_W-1:0] key_addr;
      wire key_enable;
      wire [127:0] key_word;

      ccm_lanes #(
          .W(W),
          .LANES(LANES),
          .REPAIRED(REPAIRED),
          .SLOT_W(SLOT_W),
          .KEY_W(KEY_W),
          .BLOCK_W(BLOCK_W)
      ) lanes (
          .clk(clk),
          .reset(reset),
          .job_valid(job_valid),
          .job_ready(job_ready),
          .job_slot(job_slot),
          .job_base(job_base),
          .job_last(job_last),
          .job_tail(job_tail),
          .job_aad(job_aad),
          .job_key(job_key),
          .job_open(job_open),
          .done_valid(done_valid),
          .done_slot(done_slot),
          .block_addr(ccm_block_addr),
          .word_addr(ccm_word_addr),
          .block_word(ccm_block_word),
          .nonce_addr(ccm_nonce_addr),
          .nonce_word(ccm_nonce_word),
          .key_addr(key_addr),
          .key_enable(key_enable),
          .key_word(key_word),
          .out_write(out_write),
          .out_block(out_block),
          .out_word_addr(out_word_addr),
          .out_word(out_word),
          .mic_write(mic_write),
          .mic_slot(mic_slot),
          .mic_word(mic_word)
      );

      ram_sdp #(
          .WIDTH(128),
          .DEPTH(1 << KEY_W)
      ) first_keys (
          .clk(clk),
          .write(round_key_write && round_key_addr[3:0] == 4'd0),
          .write_addr(round_key_addr[KEY_W+3:4]),
          .write_data(round_key_word),
          .enable(key_enable),
          .read_addr(key_addr),
          .read_data(key_word)
      );

      assign {offer, accept, op_valid, op_word, op_key, op_long, op_tag, ccm_last_key_addr} = 0;
      assign {result_valid_of, result_word_of, result_tag_of} = 0;
      wire cores_unused = &{
        job_long, ccm_last_key_word, offer, accept, op_valid, op_word, op_key, op_long, op_tag
      };
    end else if (PIPELINE == 1) begin : g_pipeline
      localparam ROUNDS = 10;
      wire told_unused = &{accept, op_long};  // a slot is always free, and keys always have 128 bits
      wire [KEY_W*ROUNDS-1:0] key_addr;
      wire [128*ROUNDS-1:0] key_word;

      aes_pipe #(
          .ROUNDS(ROUNDS),
          .KEY_W(KEY_W),
          .TAG_W(OP_TAG_W)
      ) aes (
          .clk(clk),
          .reset(reset),
          .offer(offer),
          .op_valid(op_valid),
          .op_word(op_word),
          .op_key(op_key),
          .op_tag(op_tag),
          .key_addr(key_addr),
          .key_word(key_word),
          .result_valid(result_valid_of),
          .result_word(result_word_of),
          .result_tag(result_tag_of)
      );

      // The path from the key table to these memories is long: this register takes one cycle of it.
      reg [KEY_W-1:0] write_addr;
      reg [127:0] write_word;
      always @(posedge clk) {write_addr, write_word} <= {round_key_addr[KEY_W+3:4], round_key_word};

      for (c = 0; c < ROUNDS; c = c + 1) begin : g_round
        reg write;
        always @(posedge clk) write <= round_key_write && round_key_addr[3:0] == c;

        ram_sdp #(
            .WIDTH(128),
            .DEPTH(1 << KEY_W)
        ) round_keys (
            .clk(clk),
            .write(write),
            .write_addr(write_addr),
            .write_data(write_word),
            .enable(1'b1),
            .read_addr(key_addr[KEY_W*c+:KEY_W]),
            .read_data(key_word[128*c+:128])
        );
      end
    end else begin : g_cores
      for (c = 0; c < CORES; c = c + 1) begin : g_core
        wire [KEY_W+3:0] key_addr;
        wire [127:0] key_word;

        aes_cslow #(
            .W(W),
            .SBOX_RAM(SBOX_RAM),
            .LEAD(4 + WORDS),
            .KEY_W(KEY_W),
            .TAG_W(OP_TAG_W)
        ) aes (
            .clk(clk),
            .reset(reset),
            .offer(offer[c]),
            .accept(accept[c]),
            .op_valid(op_valid[c]),
            .op_word(op_word),
            .op_key(op_key),
            .op_long(op_long),
            .op_tag(op_tag),
            .key_addr(key_addr),
            .key_word(key_word),
            .result_valid(result_valid_of[c]),
            .result_word(result_word_of[W*c+:W]),
            .result_tag(result_tag_of[OP_TAG_W*c+:OP_TAG_W])
        );

        ram_sdp #(
            .WIDTH(128),
            .DEPTH(1 << (KEY_W + 4))
        ) round_keys (
            .clk(clk),
            .write(round_key_write),
            .write_addr(round_key_addr),
            .write_data(round_key_word),
            .enable(1'b1),
            .read_addr(key_addr),
            .read_data(key_word)
        );
      end
    end
  endgenerate

  // ---- Out

  wire out_enable;
  wire [SLOT_W-1:0] out_slot;
  wire [INFO_W-1:0] out_info;
  wire [WORD_W-1:0] out_mic_word_addr, out_block_word_addr;
  wire [W-1:0] out_head_word, out_mic_word, out_block_word;
  wire [HEAD_W-1:0] out_head_word_addr;
  wire [BLOCK_W-1:0] out_block_addr;

  mpdu_out #(
      .W(W),
      .SLOT_W(SLOT_W),
      .KEY_W(KEY_W),
      .BLOCK_W(BLOCK_W),
      .TAG_W(TAG_W)
  ) out (
      .clk(clk),
      .reset(reset),
      .frame_valid(frame_valid),
      .done_valid(done_valid),
      .done_slot(done_slot),
      .enable(out_enable),
      .slot(out_slot),
      .info(out_info),
      .head_word_addr(out_head_word_addr),
      .head_word(out_head_word),
      .mic_word_addr(out_mic_word_addr),
      .mic_word(out_mic_word),
      .block_addr(out_block_addr),
      .block_word_addr(out_block_word_addr),
      .block_word(out_block_word),
      .replay_key(replay_key),
      .replay_priority(replay_priority),
      .replay_pn(replay_pn),
      .replay_write(replay_write),
      .replay_pn_next(replay_pn_next),
      .oldest_block(oldest_block),
      .oldest_slot(oldest_slot),
      .v_valid(v_valid),
      .v_ready(v_ready),
      .v_verdict(v_verdict),
      .v_open(v_open),
      .v_key(v_key),
      .v_tag(v_tag),
      .m_valid(m_valid),
      .m_ready(m_ready),
      .m_data(m_data),
      .m_keep(m_keep),
      .m_last(m_last),
      .m_open(m_open),
      .m_key(m_key),
      .m_tag(m_tag)
  );

  wire [COUNT_W-1:0] told;
  assign count = told;

  verdict_counts #(
      .COUNT_W(COUNT_W)
  ) counts (
      .clk(clk),
      .reset(reset),
      .event_valid(v_valid && v_ready),
      .event_verdict(v_verdict),
      .addr(count_addr),
      .ready(count_ready),
      .count(told)
  );

  // ---- Memories

  // Word addresses. With W = 128 they are block addresses.

  localparam BLOCKS_W = BLOCK_W + IN_BLOCK_W, SLOTS_W = SLOT_W + IN_BLOCK_W, LAST_W = KEY_W + IN_BLOCK_W;
  wire [BLOCKS_W-1:0] in_write_at, ccm_read_at, ccm_write_at, out_read_at;
  wire [SLOTS_W-1:0] nonce_write_at, ccm_nonce_at, out_mic_at, mic_write_at;
  wire [LAST_W-1:0] last_key_write_at, last_key_read_at;

  generate
    if (W == 128) begin : g_blocks
      wire words_unused = &{
        in_block_word_addr, ccm_word_addr, out_word_addr, out_block_word_addr,
        in_nonce_word_addr, out_mic_word_addr, last_key_word_addr
      };
      assign in_write_at = in_block_addr;
      assign ccm_read_at = ccm_block_addr;
      assign ccm_write_at = out_block;
      assign out_read_at = out_block_addr;
      assign nonce_write_at = in_slot;
      assign ccm_nonce_at = ccm_nonce_addr;
      assign out_mic_at = out_slot;
      assign mic_write_at = mic_slot;
      assign last_key_write_at = last_key_addr;
      assign last_key_read_at = ccm_last_key_addr;
    end else begin : g_words
      assign in_write_at = {in_block_addr, in_block_word_addr};
      assign ccm_read_at = {ccm_block_addr, ccm_word_addr};
      assign ccm_write_at = {out_block, out_word_addr};
      assign out_read_at = {out_block_addr, out_block_word_addr};
      assign nonce_write_at = {in_slot, in_nonce_word_addr};
      assign ccm_nonce_at = {ccm_nonce_addr, ccm_word_addr};
      assign out_mic_at = {out_slot, out_mic_word_addr};
      assign mic_write_at = {mic_slot, out_word_addr};
      assign last_key_write_at = {last_key_addr, last_key_word_addr};
      assign last_key_read_at = {ccm_last_key_addr, ccm_word_addr};
    end
  endgenerate

  genvar slice;
  generate
    for (slice = 0; slice < W / 32; slice = slice + 1) begin : g_slice
      (* keep_hierarchy *)
      block_slice #(
          .DEPTH(1 << BLOCKS_W)
      ) blocks_in (
          .clk(clk),
          .write(in_block_write),
          .write_addr(in_write_at),
          .write_data(in_block_word[32*slice+:32]),
          .enable(1'b1),
          .read_addr(ccm_read_at),
          .read_data(ccm_block_word[32*slice+:32])
      );

      (* keep_hierarchy *)
      block_slice #(
          .DEPTH(1 << BLOCKS_W),
          .READ_CYCLES(3)
      ) blocks_out (
          .clk(clk),
          .write(out_write),
          .write_addr(ccm_write_at),
          .write_data(out_word[32*slice+:32]),
          .enable(out_enable),
          .read_addr(out_read_at),
          .read_data(out_block_word[32*slice+:32])
      );
    end
  endgenerate

  ram_sdp #(
      .WIDTH(W),
      .DEPTH(1 << SLOTS_W)
  ) nonces (
      .clk(clk),
      .write(in_nonce_write),
      .write_addr(nonce_write_at),
      .write_data(in_nonce_word),
      .enable(1'b1),
      .read_addr(ccm_nonce_at),
      .read_data(ccm_nonce_word)
  );

  ram_sdp #(
      .WIDTH(W),
      .DEPTH(1 << SLOTS_W)
  ) mics (
      .clk(clk),
      .write(mic_write),
      .write_addr(mic_write_at),
      .write_data(mic_word),
      .enable(out_enable),
      .read_addr(out_mic_at),
      .read_data(out_mic_word)
  );

  ram_sdp #(
      .WIDTH(W),
      .DEPTH(1 << (SLOT_W + HEAD_W))
  ) heads (
      .clk(clk),
      .write(in_head_write),
      .write_addr({in_slot, in_head_word_addr}),
      .write_data(in_head_word),
      .enable(out_enable),
      .read_addr({out_slot, out_head_word_addr}),
      .read_data(out_head_word)
  );

  ram_sdp #(
      .WIDTH(INFO_W),
      .DEPTH(1 << SLOT_W)
  ) infos (
      .clk(clk),
      .write(frame_valid),
      .write_addr(in_slot),
      .write_data({
        frame_verdict, frame_open, frame_long, frame_header_end, frame_payload_end, key, frame_id, frame_tag, frame_end,
        frame_tid, frame_pn
      }),
      .enable(1'b1),
      .read_addr(out_slot),
      .read_data(out_info)
  );

  ram_sdp #(
      .WIDTH(W),
      .DEPTH(1 << LAST_W)
  ) last_keys (
      .clk(clk),
      .write(last_key_write),
      .write_addr(last_key_write_at),
      .write_data(last_key_word),
      .enable(1'b1),
      .read_addr(last_key_read_at),
      .read_data(ccm_last_key_word)
  );

endmodule

`default_nettype wire
