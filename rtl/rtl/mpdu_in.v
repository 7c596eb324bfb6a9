// Input of MPDUs (IEEE 802.11-2020 9.3.2.1, 9.3.3.1): parses them and writes them to memory in the form that CCM reads.
//
// The held word and the word after it provide the words of the payload, which begins at the end of the header. The blocks
// in memory are:
//
//   0, 1   the AAD with its length in front (12.5.3.3.3): the MAC header at its own position, with Frame Control in place
//          of Duration, without the bits that a retransmission may change
//   2 ...  the payload, and in MPDUs to be opened the MIC
//
// No octet of the header is moved. Octets after the end of AAD or payload are not cleared: readers know the length. The
// header as received, except for the Protected bit, goes to a separate memory.
//
// A frame is admitted after its last word: it gets its packet number, its nonce is written, and it becomes a job for CCM.
// A rejected frame takes no blocks.
`default_nettype none

module mpdu_in #(
    parameter W = 32,
    parameter SLOT_W = 4,
    parameter KEY_W = 5,
    parameter BLOCK_W = 10,
    parameter TAG_W = 8,
    parameter MAX_OCTETS = 8064,  // longest MPDU without FCS; a multiple of 16
    // Derived: do not set.
    parameter BYTES = W / 8,
    parameter WORDS = 128 / W,
    parameter WORD_W = W == 128 ? 1 : $clog2(WORDS),
    parameter HEAD_WORDS = 48 / BYTES,
    parameter HEAD_W = $clog2(HEAD_WORDS)
) (
    input wire clk,
    input wire reset,

    // MPDUs without FCS, octet k of a word in bits 8k+7 to 8k. s_open, s_key and s_tag are read with the first word.
    input  wire             s_valid,
    output wire             s_ready,
    input  wire [    W-1:0] s_data,
    input  wire [BYTES-1:0] s_keep,   // ones from bit 0 on; only ones except in the last word
    input  wire             s_last,
    input  wire             s_open,   // 1: open, 0: seal
    input  wire [KEY_W-1:0] s_key,
    input  wire [TAG_W-1:0] s_tag,    // user data, returned with the frame

    input  wire pause,  // start no frame
    output wire empty,  // the core has no frame

    // The key of the current frame; valid two cycles after `key`.
    output wire [KEY_W-1:0] key,
    input  wire             key_known,
    input  wire             key_long,
    input  wire [      1:0] key_id,
    input  wire [     47:0] key_pn,         // the last sealed packet number
    output wire             key_pn_write,
    output wire [     47:0] key_pn_next,

    output reg                block_write,
    output reg  [BLOCK_W-1:0] block_addr,
    output reg  [ WORD_W-1:0] block_word_addr,
    output reg  [      W-1:0] block_word,
    output reg                head_write,
    output reg  [ HEAD_W-1:0] head_word_addr,
    output reg  [      W-1:0] head_word,
    output reg                nonce_write,
    output reg  [ WORD_W-1:0] nonce_word_addr,
    output reg  [      W-1:0] nonce_word,
    output wire [ SLOT_W-1:0] slot,             // of the current frame, for head and nonce

    // The first block and slot in use, up to the current frame's. One bit more than the address.
    input  wire [BLOCK_W:0] oldest_block,
    input  wire [ SLOT_W:0] oldest_slot,

    // The frame, admitted or rejected.
    output wire               frame_valid,        // for one cycle
    output wire [        3:0] frame_verdict,
    output wire               frame_open,
    output reg                frame_long,         // its key has 256 bits,
    output reg  [        1:0] frame_id,           // and the key's Key ID
    output wire [        5:0] frame_header_end,   // the last octet of its MAC header
    output wire [       13:0] frame_payload_end,  // the last octet of its payload; negative without payload
    output wire [        4:0] frame_tid,          // TID, or 16: management
    output reg  [       47:0] frame_pn,
    output wire [  TAG_W-1:0] frame_tag,
    output wire [  BLOCK_W:0] frame_end,          // the block after it

    // The job of an admitted frame, valid until it is taken.
    output reg                job_valid,
    input  wire               job_ready,
    output reg  [   SLOT_W:0] job_slot,
    output reg  [BLOCK_W-1:0] job_base,
    output reg  [        9:0] job_last,
    output reg  [        3:0] job_tail,
    output reg  [        3:0] job_aad,
    output reg  [  KEY_W-1:0] job_key,
    output reg                job_long,
    output reg                job_open
);

  `include "verdicts.vh"

  // ---- The last received word

  reg next_valid, next_last, next_open;
  reg [W-1:0] next_data;
  reg [BYTES-1:0] next_keep;
  reg [KEY_W-1:0] next_key;
  reg [TAG_W-1:0] next_tag;

  always @(posedge clk) begin
    if (s_ready) begin
      next_valid <= s_valid;
      next_data <= s_data;
      next_keep <= s_keep;
      next_last <= s_last;
      next_open <= s_open;
      next_key <= s_key;
      next_tag <= s_tag;
    end
    if (reset) next_valid <= 1'b0;
  end

  // One-hot.
  localparam BEGIN = 0, DECODE = 1, RUN = 2, SKIP = 3, ADMIT = 4;
  reg [4:0] state;

  // ---- Fields of Frame Control (9.2.4.1)

  wire [7:0] fc0 = next_data[7:0], fc1 = next_data[15:8];
  wire [3:0] fc1_unused = fc1[5:2];
  wire is_data = fc0[3:2] == 2'b10;
  wire is_qos = is_data && fc0[7];
  wire is_robust = fc0[3:2] == 2'b00 && (fc0[7:4] == 4'd10 || fc0[7:4] == 4'd12 || fc0[7:4] == 4'd13);
  wire has_addr4 = is_data && fc1[1:0] == 2'b11;
  wire has_htc = fc1[7] && (is_qos || !is_data);

  reg protectable, is_protected, qos, management, addr4, htc, open;
  reg [KEY_W-1:0] key_at;
  reg [TAG_W-1:0] tag;

  // ---- Lengths that follow from Frame Control

  localparam LOG_BYTES = $clog2(BYTES), PAIRS = BYTES / 2;
  localparam LOG_BLOCK_WORDS = $clog2(WORDS);  // the bit of the index that selects the block

  // One constant per kind of frame, so that the hardware only selects.
  function [5:0] header_of(input [2:0] kind);  // octets of the header; kind: addr4, qos, htc
    case (kind)
      3'b000: header_of = 6'd24;
      3'b001: header_of = 6'd28;
      3'b010: header_of = 6'd26;
      3'b011: header_of = 6'd30;
      3'b100, 3'b101: header_of = 6'd30;
      3'b110: header_of = 6'd32;
      default: header_of = 6'd36;
    endcase
  endfunction

  function [5:0] payload_of(input [3:0] kind);  // octets before the payload; kind: addr4, qos, htc, open
    payload_of = header_of(kind[3:1]) + (kind[0] ? 6'd8 : 6'd0);
  endfunction

  function [5:0] aad_of(input [1:0] kind);  // octets of the AAD with its length field; kind: addr4, qos
    aad_of = kind[1] ? (kind[0] ? 6'd32 : 6'd30) : kind[0] ? 6'd26 : 6'd24;
  endfunction

  function [3:0] word_of(input [5:0] octet);  // the word that contains the octet
    reg [1:0] unused;
    {unused, word_of} = octet >> LOG_BYTES;
  endfunction

  function [PAIRS-1:0] pair_of(input [5:0] octet);  // the octet's pair within that word, one-hot
    reg [5-LOG_BYTES:0] word_unused;
    reg [LOG_BYTES-2:0] pair;
    reg odd_unused;
    begin
      {word_unused, pair, odd_unused} = octet;
      pair_of = {{PAIRS - 1{1'b0}}, 1'b1} << pair;
    end
  endfunction

  reg [5:0] header_end;  // the last octet of the header,
  reg [5:0] before_payload;  // and the octet before the payload
  reg [5:0] aad_length;
  // The word before the last word with AAD, and the words two and three before the word in which the payload begins. The
  // payload's position in that word is in pairs of octets, because header lengths are even.
  reg [3:0] aad_end_before, payload_before_2, payload_before_3;
  reg [PAIRS-1:0] shift;  // one-hot
  reg in_second;  // the payload begins in the second word

  // A sum of products: from any other form, tools make a chain of multiplexers.
  localparam LENGTHS_W = 6 + 6 + 6 + 4 + 4 + 4 + PAIRS;
  reg [LENGTHS_W-1:0] lengths;
  integer kind;
  always @* begin
    in_second = 1'b0;
    lengths = {LENGTHS_W{1'b0}};
    for (kind = 0; kind < 16; kind = kind + 1) begin
      if (word_of(payload_of(kind[3:0])) == 4'd1) in_second = in_second | ({addr4, qos, htc, open} == kind[3:0]);
      lengths = lengths | ({LENGTHS_W{{addr4, qos, htc, open} == kind[3:0]}} & {
        header_of(kind[3:1]) - 6'd1, payload_of(kind[3:0]) - 6'd1, aad_of(kind[3:2]) - 6'd2,
        word_of(aad_of(kind[3:2]) - 6'd1) - 4'd1,
        word_of(payload_of(kind[3:0])) - 4'd2, word_of(payload_of(kind[3:0])) - 4'd3,
        pair_of(payload_of(kind[3:0]))
      });
    end
  end

  always @(posedge clk)
    {header_end, before_payload, aad_length, aad_end_before, payload_before_2, payload_before_3, shift} <= lengths;

  function automatic [LOG_BYTES-1:0] end_of(input [BYTES-1:0] keep);  // the last octet with keep
    integer at;
    begin
      end_of = {LOG_BYTES{1'b0}};
      for (at = 1; at < BYTES; at = at + 1)
        if (keep[at] && (at == BYTES - 1 || !keep[(at+1)%BYTES])) end_of = end_of | at[LOG_BYTES-1:0];
    end
  endfunction

  // ---- Word by word

  localparam STEPS = WORDS + 5;

  reg [W-1:0] held;
  reg [LOG_BYTES-1:0] held_end;  // its last octet
  reg held_last;
  reg [3:0] index;  // of the held word, at most 14: headers have no more words, and 15 means none
  reg [13-LOG_BYTES:0] words;  // before the held word
  reg [WORD_W-1:0] at;  // within the block of the payload
  reg [BLOCK_W:0] base, first_block, block;
  reg [SLOT_W:0] slot_at;

  // Whether the held word has octets of the AAD, and whether a word of the payload begins in it. If both, it stays for two
  // cycles, the first one for the AAD.
  reg in_aad, in_payload, stall, at_aad_end, at_before, before_soon;
  reg [32/BYTES-1:0] at_word;  // position of the held word in the first 32 octets, one-hot
  wire has_qc = at_word[24/BYTES] && qos && !addr4;  // QoS Control, without Address 4
  wire has_qc_4 = at_word[30/BYTES] && qos && addr4;
  reg [PAIRS-1:0] turn;  // `shift`, or no shift for octets of the AAD
  wire in_aad_next = in_aad && !at_aad_end;
  wire in_aad_will = begins || (in_aad && !ends_stall && !(goes && at_aad_end));  // one cycle later
  wire in_payload_next = in_payload || at_before;

  // Free space is checked two cycles late, three for a frame's last word. Therefore one slot and eight blocks stay free.
  reg [BLOCK_W:0] blocks_used;
  reg [SLOT_W:0] slots_used;
  reg has_room, may_begin;

  always @(posedge clk) begin
    first_block <= base + {{BLOCK_W - 1{1'b0}}, 2'd2};
    blocks_used <= block - oldest_block;
    has_room <= !(blocks_used[BLOCK_W] || &blocks_used[BLOCK_W-1:3]);
    slots_used <= slot_at - oldest_slot;
    may_begin <= !(slots_used[SLOT_W] || &slots_used[SLOT_W-1:0]) && !pause;
    if (reset) {blocks_used, slots_used, has_room, may_begin} <= 0;
  end

  // Whether the next word replaces the held word is decided one cycle before. Only a stall is checked in the same cycle.
  reg would_move, next_will_be_valid;
  reg may_end;  // the held word is the last word, and there is room for it
  wire moves = would_move && !stall;
  assign s_ready = !next_valid || moves;

  wire begins = moves && state[BEGIN];
  wire goes = state[RUN] && !stall && (would_move || may_end);
  wire ends_stall = state[RUN] && stall && has_room;
  wire stalls = in_aad_next && (in_payload_next || (W != 32 && open && before_soon));

  reg may_move;
  always @* begin
    next_will_be_valid = s_valid || (next_valid && !moves);
    may_move =
        (moves && state[RUN] && has_room && !too_long && !next_last) ||
        (!moves && !held_last && (state[SKIP] || ((state[RUN] || state[DECODE]) && has_room))) ||
        (may_begin && (admits || (state[BEGIN] && !moves)));
  end

  always @(posedge clk) begin
    would_move <= next_will_be_valid && may_move && !reset;
    may_end <= has_room && (moves ? next_last : held_last);
  end

  reg too_long;

  reg [STEPS-1:0] step;  // of the admission, one-hot: three to compute, the nonce's words, one to wait, one to admit
  wire admits = step[STEPS-1];

  always @(posedge clk) begin
    if (moves) begin
      held <= next_data;
      held_end <= end_of(next_keep);
      held_last <= next_last;
    end
    if (begins) begin
      {in_payload, stall, too_long, is_long} <= 4'b0000;
      at_word <= 1;
      at <= {WORD_W{1'b0}};
      protectable <= fc0[1:0] == 2'b00 && ((is_data && !fc0[6]) || is_robust);
      is_protected <= fc1[6];
      qos <= is_qos;
      management <= !is_data;
      addr4 <= has_addr4;
      htc <= has_htc;
      open <= next_open;
      key_at <= next_key;
      tag <= next_tag;
    end
    if (state[BEGIN]) index <= 4'd0;
    if (state[DECODE]) begin
      at_aad_end <= 1'b0;
      before_soon <= W == 128;  // relevant only for frames to be opened
      at_before <= in_second;
    end
    if (begins) words <= 0;
    else if (goes && !held_last) words <= words + 1'b1;
    in_aad <= in_aad_will;
    turn <= in_aad_will ? 1 : shift;
    if (ends_stall) stall <= 1'b0;
    if (goes) begin
      if (index != 4'd14) index <= index + 4'd1;
      at_word <= at_word << 1;
      in_payload <= in_payload_next;
      stall <= stalls && !held_last && !too_long;
      at_aad_end <= index == aad_end_before;
      at_before <= index == payload_before_2;
      before_soon <= index == payload_before_3;
      if (W != 128 && in_payload) at <= at + 1'b1;
      too_long <= words == (MAX_OCTETS >> LOG_BYTES) - 2;
    end
    if (state[DECODE]) block <= first_block;
    else if (goes && in_payload && (W == 128 || at == WORDS - 1)) block <= block + 1'b1;
    if (state[SKIP]) is_long <= 1'b1;
    state[BEGIN] <= admits || (state[BEGIN] && !begins);
    state[DECODE] <= begins;
    state[RUN] <= state[DECODE] || (state[RUN] && !(goes && (held_last || too_long)));
    state[SKIP] <= (goes && too_long || state[SKIP]) && !held_last;
    state[ADMIT] <= ((goes || state[SKIP]) && held_last) || (state[ADMIT] && !admits);
    if (admits) begin
      slot_at <= slot_at + 1'b1;
      base <= frame_end;
    end
    // The previous job must be taken first.
    step <= !state[ADMIT] ? 1 : step[STEPS-2] && job_valid ? step : step << 1;
    if (reset) begin
      state <= 1 << BEGIN;
      step <= 1;
      stall <= 1'b0;
      slot_at <= {SLOT_W + 1{1'b0}};
      base <= {BLOCK_W + 1{1'b0}};
      block <= {BLOCK_W + 1{1'b0}};
    end
  end

  assign empty = state[BEGIN] && slot_at == oldest_slot;

  // ---- Words written to memory

  // Words of the AAD stay in position; words of the payload are moved to the start of a block. The held word begins with
  // octet index * BYTES.
  wire [2*W-1:0] pair = {next_data, held};
  reg [W-1:0] in_place, written;
  integer by;
  always @* begin
    in_place = held;
    if (in_aad) begin
      // Masked bits (12.5.3.3.3): the sequence number, but not the fragment number; QoS Control except the TID.
      if (at_word[22/BYTES]) in_place[8*(22%BYTES)+4+:12] = 12'd0;
      if (has_qc) in_place[8*(24%BYTES)+4+:12] = 12'd0;
      if (has_qc_4) in_place[8*(30%BYTES)+4+:12] = 12'd0;
    end
    if (at_word[0]) begin
      in_place[15:0] = {2'd0, aad_length, 8'd0};
      in_place[23:16] = held[7:0] & (management ? 8'hff : 8'h8f);
      in_place[31:24] = (held[15:8] & (qos ? 8'h47 : 8'hc7)) | 8'h40;
    end
    written = in_place & {W{turn[0]}};
    for (by = 1; by < PAIRS; by = by + 1) written = written | (pair[16*by+:W] & {W{turn[by]}});
  end

  always @(posedge clk) begin
    block_write <= (goes || ends_stall) && (in_aad || in_payload);
    block_addr <= in_aad ? {base[BLOCK_W-1:1], index[LOG_BLOCK_WORDS]} : block[BLOCK_W-1:0];
    block_word_addr <= in_aad ? index[WORD_W-1:0] : at;
    block_word <= written;
    head_write <= (goes || ends_stall) && {index, {LOG_BYTES{1'b0}}} < 36;
    head_word_addr <= index[HEAD_W-1:0];
    head_word <= held;
    if (at_word[0]) head_word[14] <= !open;  // Protected (9.2.4.1.9)
  end

  // ---- Fields kept from the word

  integer octet;
  // Fields of a 32-bit word, if the CCMP header begins in it: Key ID, Ext IV; PN1 and PN0.
  wire [2:0] first_flags;
  wire [12:0] first_unused;
  wire [15:0] first_pn;
  assign {first_flags, first_unused, first_pn} = shift[0] ? pair[0+:32] : pair[16+:32];
  reg at_before_1;  // one cycle ago
  reg [47:0] addr2, pn;
  reg [3:0] tid;
  reg ext_iv;
  reg [1:0] id;
  wire [3:0] tid_at_24 = held[8*(24%BYTES)+:4], tid_at_30 = held[8*(30%BYTES)+:4];

  always @(posedge clk) begin
    for (octet = 0; octet < 6; octet = octet + 1)
      if (at_word[(10+octet)/BYTES]) addr2[8*octet+:8] <= held[8*((10+octet)%BYTES)+:8];
    if (has_qc) tid <= tid_at_24;
    if (has_qc_4) tid <= tid_at_30;
    if (begins) tid <= 4'd0;
    // The CCMP header is directly before the payload: PN0 PN1 0 ID PN2 PN3 PN4 PN5. If it shares a word of more than 32
    // bits with the AAD, that word stays for two cycles, and the second cycle writes the CCMP header like payload.
    at_before_1 <= at_before;
    if (W == 32) begin
      if (before_soon) begin
        pn[15:0] <= first_pn;
        {id, ext_iv} <= first_flags;
      end
      if (at_before) pn[47:16] <= written[31:0];
    end else if (at_before_1) begin
      pn <= {block_word[W-32+:32], block_word[W-64+:16]};
      {id, ext_iv} <= block_word[W-64+29+:3];
    end
  end

  // ---- Admission

  reg is_long;
  wire [13:0] last_octet = {words, held_end};  // of the MPDU
  reg [5:0] around;  // octets of header, CCMP header and MIC, minus one
  reg [13:0] payload;  // octets; negative if the MPDU is too short
  reg [13:0] payload_31;  // payload + 31: the block in which the payload ends, counted from AAD 1, and the octet in it
  reg [13:0] payload_end;
  reg [47:0] held_pn;
  reg [48:0] next_pn;  // with a carry
  reg [1:0] carries;

  always @(posedge clk) begin
    around <= {before_payload[5:3] + {1'b0, open && key_long, open && !key_long}, before_payload[2:0]};
    payload <= last_octet - {8'd0, around};
    payload_31 <= payload + 14'd31;
    payload_end <= {payload_31[13:5] - 1'b1, payload_31[4:0]};
    held_pn <= key_pn;
    {carries[0], next_pn[15:0]} <= held_pn[15:0] + 17'd1;
    {carries[1], next_pn[31:16]} <= held_pn[31:16] + {16'd0, carries[0]};
    next_pn[48:32] <= held_pn[47:32] + {16'd0, carries[1]};
  end

  assign key = key_at;
  assign key_pn_next = next_pn[47:0];
  assign key_pn_write = admits && !open && is_good;

  reg [3:0] header_verdict, verdict;
  reg is_good, is_short, no_key, no_ext_iv, other_id, exhausted;

  always @(posedge clk) begin
    is_short <= last_octet < 14'd23;  // shorter than any header
    header_verdict <=
        is_short ? SHORT :
        !protectable ? BAD_HEADER :
        open && !is_protected ? NOT_PROTECTED :
        is_long ? LONG : SEALED_OR_OPENED;
    verdict <=
        header_verdict != SEALED_OR_OPENED ? header_verdict :
        no_key ? NO_KEY :
        payload[13] ? SHORT :
        no_ext_iv ? BAD_HEADER :
        other_id ? KEY_MISMATCH :
        exhausted ? EXHAUSTED : SEALED_OR_OPENED;
    no_key <= !key_known;
    no_ext_iv <= open && !ext_iv;
    {frame_long, frame_id} <= {key_long, key_id};
    other_id <= open && id != frame_id;
    exhausted <= !open && next_pn[48];
    is_good <= verdict == SEALED_OR_OPENED;
  end

  assign frame_verdict = verdict;
  assign frame_valid = admits;
  assign frame_open = open;
  assign frame_header_end = header_end;
  assign frame_payload_end = payload_end;
  assign frame_tag = tag;
  assign frame_tid = {management, tid};
  wire [47:0] own_pn = open ? pn : next_pn[47:0];
  always @(posedge clk) frame_pn <= own_pn;
  wire [BLOCK_W-1:0] behind = block[BLOCK_W:1] + 1'b1;
  reg [BLOCK_W-1:0] end_pair;  // in pairs of blocks
  always @(posedge clk) end_pair <= verdict == SEALED_OR_OPENED ? behind : base[BLOCK_W:1];
  assign frame_end = {end_pair, 1'b0};

  always @(posedge clk) begin
    if (admits) begin
      job_slot <= slot_at;
      job_base <= base[BLOCK_W-1:0];
      job_last <= payload_31[13:4];
      job_tail <= payload_31[3:0];
      job_aad <= aad_length[3:0] + 4'd1;
      job_key <= key_at;
      job_long <= key_long;
      job_open <= open;
    end
    job_valid <= admits ? is_good : job_valid && !job_ready;
    if (reset) job_valid <= 1'b0;
  end

  // The nonce (12.5.3.3.4), followed by the payload's length as in B0.
  wire [127:0] nonce = {
    payload[7:0], 3'd0, payload[12:8],
    own_pn[7:0], own_pn[15:8], own_pn[23:16], own_pn[31:24], own_pn[39:32], own_pn[47:40],
    addr2, 3'd0, management, tid, 8'd0
  };

  reg [WORD_W-1:0] nonce_at;
  always @(posedge clk) nonce_at <= !state[ADMIT] ? {WORD_W{1'b0}} : |step[WORDS+2:3] ? nonce_at + 1'b1 : nonce_at;

  wire [W-1:0] nonce_word_next;
  wire [127:0] nonce_unused;
  assign {nonce_unused, nonce_word_next} = {{W{1'b0}}, nonce} >> (W == 128 ? 0 : nonce_at * W);

  always @(posedge clk) begin
    nonce_write <= |step[WORDS+2:3];
    nonce_word_addr <= nonce_at;
    nonce_word <= nonce_word_next;
  end

  assign slot = slot_at[SLOT_W-1:0];

endmodule

`default_nettype wire
