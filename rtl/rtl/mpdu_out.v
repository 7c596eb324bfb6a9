// Output of MPDUs in the order of arrival, each complete or not at all.
//
// For each frame, in order:
//
//   LOOK     read the frame's data
//   WAIT     wait until CCM has finished the frame
//   CHECK    (opened) compare the received MIC with the computed MIC
//   REPLAY   (opened) compare its packet number with the last one of its priority
//   TELL     output the verdict
//   SEND     (good verdict) sealed: header, CCMP header, payload, MIC; opened: header and payload
//
// CHECK and SEND are one state machine. It reads segments of words, each from one memory, and octet_packer joins them.
// CHECK joins the payload's last octets and the computed MIC, which must equal the words in memory.
`default_nettype none

module mpdu_out #(
    parameter W = 32,
    parameter SLOT_W = 4,
    parameter KEY_W = 5,
    parameter BLOCK_W = 10,
    parameter TAG_W = 8,
    // Derived: do not set.
    parameter BYTES = W / 8,
    parameter WORDS = 128 / W,
    parameter WORD_W = W == 128 ? 1 : $clog2(WORDS),
    parameter HEAD_WORDS = 48 / BYTES,
    parameter HEAD_W = $clog2(HEAD_WORDS),
    parameter INFO_W = 4 + 1 + 1 + 6 + 14 + KEY_W + 2 + TAG_W + BLOCK_W + 1 + 5 + 48
) (
    input wire clk,
    input wire reset,

    input wire            frame_valid,  // one more frame was admitted or rejected
    input wire            done_valid,
    input wire [SLOT_W:0] done_slot,

    // Memories, with a read latency of two cycles; `block_word`: three.
    output wire [ SLOT_W-1:0] slot,             // for all except `block_word`
    input  wire [ INFO_W-1:0] info,
    output reg                enable,           // for all except `info`
    output wire [ HEAD_W-1:0] head_word_addr,
    input  wire [      W-1:0] head_word,
    output wire [ WORD_W-1:0] mic_word_addr,
    input  wire [      W-1:0] mic_word,
    output wire [BLOCK_W-1:0] block_addr,
    output wire [ WORD_W-1:0] block_word_addr,
    input  wire [      W-1:0] block_word,

    // The last packet number received.
    output wire [KEY_W-1:0] replay_key,
    output wire [      4:0] replay_priority,
    input  wire [     47:0] replay_pn,
    output reg              replay_write,
    output wire [     47:0] replay_pn_next,

    // The first block and slot in use.
    output reg [BLOCK_W:0] oldest_block,
    output reg [ SLOT_W:0] oldest_slot,

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
    output wire [TAG_W-1:0] m_tag
);

  `include "verdicts.vh"

  localparam LOG_BYTES = $clog2(BYTES);
  localparam COUNT_W = LOG_BYTES + 1;
  localparam NEXT = 0, LOOK = 1, WAIT = 2, CHECK = 3, REPLAY = 4, TELL = 5, SEND = 6;
  localparam SLOTS = 1 << SLOT_W;

  reg [6:0] state;  // one-hot
  reg [3:0] step;  // within LOOK and REPLAY, one-hot
  reg [SLOT_W:0] came;

  reg [3:0] verdict;
  reg is_good;
  reg open, long;
  reg [5:0] header_end;
  reg [13:0] payload_end;
  reg [KEY_W-1:0] key;
  reg [1:0] id;
  reg [TAG_W-1:0] tag;
  reg [BLOCK_W:0] behind;
  reg [4:0] tid;
  reg [47:0] pn;

  assign slot = oldest_slot[SLOT_W-1:0];

  // ---- Segments

  localparam POINTER_W = W == 128 ? BLOCK_W : BLOCK_W + WORD_W;

  reg running;  // there are words to fetch
  reg in_head, in_ccmp, in_payload, in_mic;
  reg in_blocks;  // its words come from the payload's blocks, or are compared with them
  reg then_head, then_ccmp, then_payload, then_rest, then_mic;  // the next segment; `rest`: of the payload's last word
  reg [12:0] left;  // remaining octets of the segment, minus one
  reg [3:0] index;  // word of the segment
  reg [POINTER_W-1:0] pointer;  // word of the payload
  reg ends_segment;  // this is the segment's last word

  wire [3:0] mic_end = {long, 3'd7};
  wire has_payload = !payload_end[13];
  wire has_rest = !(&payload_end[LOG_BYTES-1:0]);
  reg payload_short;  // the payload has one word
  wire [COUNT_W-1:0] octets = ends_segment ? {1'b0, left[LOG_BYTES-1:0]} + 1'b1 : {1'b1, {LOG_BYTES{1'b0}}};
  wire final_segment = !(then_ccmp || then_payload || then_mic);

  wire to_check = state[WAIT] && is_done && open;
  wire to_send = state[TELL] && v_ready && is_good;
  reg begins;  // the first cycle of CHECK or SEND
  wire [BLOCK_W-2:0] payload_pair = oldest_block[BLOCK_W-1:1] + 1'b1;  // after the AAD's blocks
  reg [POINTER_W-1:0] payload_pointer, check_pointer, first_pointer;
  wire [POINTER_W-1:0] payload_words;  // minus one
  wire [12-LOG_BYTES:0] sign_unused;
  assign {sign_unused, payload_words} = {{POINTER_W{payload_end[13]}}, payload_end[12:LOG_BYTES]};

  always @(posedge clk) begin
    payload_pointer <= {payload_pair, {POINTER_W - BLOCK_W + 1{1'b0}}};
    first_pointer <= to_check ? check_pointer : payload_pointer;
    check_pointer <= payload_pointer + payload_words + {{POINTER_W - 1{1'b0}}, !has_rest};
    payload_short <= payload_end[12:LOG_BYTES] == 0;
  end

  always @(posedge clk) begin
    if (enable && running) begin
      left[12:LOG_BYTES] <= left[12:LOG_BYTES] - 1'b1;
      ends_segment <= left[12:LOG_BYTES+1] == 0;
      index <= index + 4'd1;
    end
    if (enable && in_blocks) pointer <= pointer + 1'b1;
    if (begins || (enable && running && ends_segment)) begin
      running <= begins || !final_segment;
      {in_head, in_ccmp, in_payload, in_mic} <= {then_head, then_ccmp, then_payload || then_rest, then_mic};
      in_blocks <= state[CHECK] ? then_mic : then_payload;
      left <= ({7'd0, header_end} & {13{then_head}}) | ({10'd0, 3'd7} & {13{then_ccmp}}) |
          (payload_end[12:0] & {13{then_payload}}) | ({9'd0, mic_end} & {13{then_mic}}) |
          ({{13 - LOG_BYTES{1'b0}}, payload_end[LOG_BYTES-1:0]} & {13{then_rest}});
      index <= 4'd0;
      ends_segment <= then_rest || (then_ccmp && 8 <= BYTES) || (then_payload && payload_short) ||
          (then_mic && mic_end < BYTES);
      {then_head, then_rest} <= 2'b00;
      then_ccmp <= then_head && !open;
      then_payload <= (then_head ? open : then_ccmp) && has_payload;
      then_mic <= then_rest || (then_payload && !open) || (then_ccmp && !has_payload);
    end
    if (begins) pointer <= first_pointer;
    if (to_send) then_head <= 1'b1;
    if (to_check) {then_rest, then_mic} <= {has_rest, !has_rest};
    begins <= to_check || to_send;
    if (reset) {running, begins, then_head, then_ccmp, then_payload, then_rest, then_mic} <= 7'd0;
  end

  // ---- Words

  reg [HEAD_W-1:0] index_1;
  reg valid_1, valid_2, valid_3, final_1, final_2, final_3, final_4;
  reg head_1, head_2, head_3, mic_1, mic_2, mic_3, payload_1, payload_2, payload_3, ccmp_1, ccmp_2;
  reg is_odd_2;
  reg [COUNT_W-1:0] octets_1, octets_2, octets_3, octets_4;  // `octets_4` is zero without a word
  reg [W-1:0] word_4;
  reg [W-1:0] block_4, block_5, block_6, block_7;

  assign head_word_addr = index_1;
  assign block_addr = pointer[POINTER_W-1-:BLOCK_W];
  assign block_word_addr = pointer[WORD_W-1:0];
  assign mic_word_addr = index_1[WORD_W-1:0];

  wire [63:0] ccmp_header = {pn[47:16], id, 6'h20, 8'd0, pn[15:0]};
  wire [W-1:0] ccmp_word;
  reg [W-1:0] ccmp_3;  // zero outside the CCMP header
  generate
    if (W == 32) begin : g_half
      assign ccmp_word = is_odd_2 ? ccmp_header[63:32] : ccmp_header[31:0];
    end else begin : g_whole
      wire odd_unused = is_odd_2;
      assign ccmp_word = {{W - 64{1'b0}}, ccmp_header};
    end
  endgenerate

  always @(posedge clk) begin
    if (enable) begin
      index_1 <= index[HEAD_W-1:0];
      {valid_1, valid_2, valid_3} <= {running, valid_1, valid_2};
      {final_1, final_2, final_3, final_4} <= {ends_segment && final_segment, final_1, final_2, valid_3 && final_3};
      {head_1, head_2, head_3} <= {in_head, head_1, head_2};
      {mic_1, mic_2, mic_3} <= {in_mic, mic_1, mic_2};
      {payload_1, payload_2, payload_3} <= {in_payload, payload_1, payload_2};
      {ccmp_1, ccmp_2} <= {in_ccmp, ccmp_1};
      is_odd_2 <= index_1[0];
      ccmp_3 <= ccmp_2 ? ccmp_word : {W{1'b0}};
      {octets_1, octets_2, octets_3} <= {octets, octets_1, octets_2};
      octets_4 <= valid_3 ? octets_3 : {COUNT_W{1'b0}};
      word_4 <= payload_3 ? block_word : ccmp_3 | (head_word & {W{head_3}}) | (mic_word & {W{mic_3}});
      {block_4, block_5, block_6, block_7} <= {block_word, block_4, block_5, block_6};
    end
    if (reset) {valid_1, valid_2, valid_3, octets_4, final_4} <= 0;
  end

  wire packed_valid, packed_last;
  wire [W-1:0] packed_word;
  wire [BYTES-1:0] packed_keep;

  octet_packer #(
      .W(W)
  ) packer (
      .clk(clk),
      .reset(reset),
      .enable(enable),
      .in_word(word_4),
      .in_octets(octets_4),
      .in_final(final_4),
      .out_valid(packed_valid),
      .out_word(packed_word),
      .out_keep(packed_keep),
      .out_last(packed_last)
  );

  // A word that is not taken immediately is put aside, and the whole path stops until it is taken.
  reg aside_last;
  wire aside_valid = !enable;
  reg [W-1:0] aside_word;
  reg [BYTES-1:0] aside_keep;

  assign m_valid = aside_valid || (packed_valid && state[SEND]);
  assign m_data = aside_valid ? aside_word : packed_word;
  assign m_keep = aside_valid ? aside_keep : packed_keep;
  assign m_last = aside_valid ? aside_last : packed_last;
  assign m_open = open;
  assign m_key = key;
  assign m_tag = tag;

  always @(posedge clk) begin
    enable <= !m_valid || m_ready || reset;
    if (enable) {aside_last, aside_keep, aside_word} <= {packed_last, packed_keep, packed_word};
  end

  // ---- Checks

  reg [BYTES-1:0] differs;
  reg [47:0] new_pn, last_pn;  // a copy of `pn`, because the comparison is placed near the memory of replay counters
  reg mic_differs;
  reg [5:0] above;  // whether the packet number up to this octet, from the lowest, is above the last one
  wire is_fresh = above[5];

  integer octet;
  always @(posedge clk) begin
    for (octet = 0; octet < BYTES; octet = octet + 1)
      differs[octet] <= state[CHECK] && packed_valid && packed_keep[octet] &&
          packed_word[8*octet+:8] != block_7[8*octet+:8];
    mic_differs <= !state[WAIT] && (mic_differs || |differs);
    new_pn <= pn;
    last_pn <= replay_pn;
    above[0] <= new_pn[7:0] > last_pn[7:0];
    for (octet = 1; octet < 6; octet = octet + 1)
      above[octet] <= {new_pn[8*octet+:8], above[octet-1]} > {last_pn[8*octet+:8], 1'b0};
  end

  // The highest bit of a slot number changes each time round. For each slot, `done_as` records this bit of the last
  // finished frame: finished by CCM, or rejected. A frame is finished if its bit equals the recorded bit. Reset
  // overwrites all bits while no key is installed.
  reg done_as[0:SLOTS-1];
  reg is_done, clearing;
  reg [SLOT_W-1:0] cleared;
  reg [SLOT_W:0] looked_for;
  wire [SLOT_W:0] done_now = done_valid ? done_slot : clearing ? {1'b1, cleared} : oldest_slot;
  wire refuses = state[LOOK] && step[3] && !is_good && !done_valid;

  always @(posedge clk) begin
    if (done_valid || clearing || refuses) done_as[done_now[SLOT_W-1:0]] <= done_now[SLOT_W];
    looked_for <= oldest_slot;
    is_done <= done_as[looked_for[SLOT_W-1:0]] == looked_for[SLOT_W];
    cleared <= cleared + 1'b1;
    if (&cleared) clearing <= 1'b0;
    if (reset) begin
      clearing <= 1'b1;
      cleared <= {SLOT_W{1'b0}};
    end
  end

  // ---- Frame by frame

  reg has_frame;
  reg sent;  // the last word has left
  wire frees = sent || (state[TELL] && v_ready && !is_good);

  always @(posedge clk) begin
    came <= came + {{SLOT_W{1'b0}}, frame_valid};
    sent <= m_valid && m_ready && m_last;
    step <= state[LOOK] || state[REPLAY] ? {step[3] || step[2], step[1:0], 1'b0} : 4'd1;
    has_frame <= came != oldest_slot && !frees;
    if (state[LOOK] && step[2]) begin
      {verdict, open, long, header_end, payload_end, key, id, tag, behind, tid, pn} <= info;
      is_good <= info[INFO_W-1-:4] == SEALED_OR_OPENED;
    end
    if (state[REPLAY] && step[2] && !is_fresh) {verdict, is_good} <= {REPLAYED, 1'b0};
    if (state[REPLAY] && step[2] && mic_differs) {verdict, is_good} <= {BAD_MIC, 1'b0};

    state[NEXT] <= frees || (state[NEXT] && !has_frame);
    state[LOOK] <= (state[NEXT] && has_frame) || (state[LOOK] && !(step[3] && is_good) && !refuses);
    state[WAIT] <= (state[LOOK] && step[3] && is_good) || (state[WAIT] && !is_done);
    state[CHECK] <= to_check || (state[CHECK] && !(packed_valid && packed_last));
    state[REPLAY] <= (state[CHECK] && packed_valid && packed_last) || (state[REPLAY] && !step[3]);
    state[TELL] <= refuses || (state[WAIT] && is_done && !open) || (state[REPLAY] && step[3]) || (state[TELL] && !v_ready);
    state[SEND] <= to_send || (state[SEND] && !sent);
    if (frees) begin
      oldest_block <= behind;
      oldest_slot <= oldest_slot + 1'b1;
    end
    if (reset) begin
      state <= 1 << NEXT;
      came <= {SLOT_W + 1{1'b0}};
      oldest_block <= {BLOCK_W + 1{1'b0}};
      oldest_slot <= {SLOT_W + 1{1'b0}};
      has_frame <= 1'b0;
      sent <= 1'b0;
    end
  end

  assign replay_key = key;
  assign replay_priority = tid;
  always @(posedge clk) replay_write <= state[REPLAY] && step[2] && !mic_differs && is_fresh;
  assign replay_pn_next = new_pn;

  assign v_valid = state[TELL];
  assign v_verdict = verdict;
  assign v_open = open;
  assign v_key = key;
  assign v_tag = tag;

endmodule

`default_nettype wire
