// CCM (RFC 3610, as used by CCMP) for one MPDU at a time, in the forms of Hayajneh et al., "An Enhanced WLAN Security
// System With FPGA Implementation for Multimedia Applications", section V.B.
//
//   LANES    AES cores
//   0        one that alternates between CTR and CBC-MAC: the standard form of CCMP-128
//   1        one for CTR, one for CBC-MAC: also CCMP-128
//   2, 4, 8  LANES for CTR, and LANES for the sub-chains of CBC-MAC
//
// All AES cores do one round per cycle (aes_iter), so a step takes 11 cycles, or 22 if CTR and CBC-MAC alternate. The
// frame's blocks go to the lanes in turn.
//
// With REPAIRED, the MIC is that of Enhanced CCMP (docs/explanation/enhanced-ccmp.md): every lane starts from its own B0,
// and AAD and payload are distributed over the lanes as one string. Without REPAIRED, the MIC is the paper's as printed:
// the first lane starts from B0 and the AAD, the others from zero with the payload. The paper's MIC can be forged, with
// four or more lanes by swapping lanes, with two by other means: it is for comparison only.
//
// A frame in memory is AAD 1, AAD 2, payload and the block after the payload, as for ccm_turns. LANES consecutive blocks
// are a group. In each step:
//
//   CBC-MAC   processes the group in `row`;
//   memory    reads the next group word by word, seals or opens it, and replaces its S in `row` with it;
//   CTR       computes the S of the group after that, and in the last step the S of the MIC (S0).
//
// The first group is B0, which is written to `row` during the last step of the previous frame.
`default_nettype none

module ccm_lanes #(
    parameter W = 32,  // with less than LANES * 16, memory takes longer than AES
    parameter LANES = 2,
    parameter REPAIRED = 1,  // the MIC of two or more lanes
    parameter SLOT_W = 4,
    parameter KEY_W = 5,
    parameter BLOCK_W = 10,
    // Derived: do not set.
    parameter WORDS = 128 / W,
    parameter WORD_W = W == 128 ? 1 : $clog2(WORDS)
) (
    input wire clk,
    input wire reset,

    // A frame in memory.
    input  wire               job_valid,
    output wire               job_ready,
    input  wire [   SLOT_W:0] job_slot,
    input  wire [BLOCK_W-1:0] job_base,   // AAD 1
    input  wire [        9:0] job_last,   // its last block: 1 + payload blocks
    input  wire [        3:0] job_tail,   // the last octet of the payload in that block,
    input  wire [        3:0] job_aad,    // and the last octet of the AAD in AAD 2
    input  wire [  KEY_W-1:0] job_key,
    input  wire               job_open,

    output reg               done_valid,  // its payload and its MIC are in memory
    output reg  [  SLOT_W:0] done_slot,

    // Memories, with a read latency of two cycles.
    output wire [BLOCK_W-1:0] block_addr,
    output wire [ WORD_W-1:0] word_addr,      // for all reads
    input  wire [      W-1:0] block_word,
    output wire [ SLOT_W-1:0] nonce_addr,
    input  wire [      W-1:0] nonce_word,     // octets 1 to 13 of the nonce, then the payload's length
    output wire [  KEY_W-1:0] key_addr,
    output wire               key_enable,     // of both read registers
    input  wire [      127:0] key_word,       // the key itself
    output reg                out_write,
    output reg  [BLOCK_W-1:0] out_block,
    output wire [ WORD_W-1:0] out_word_addr,  // also for the MIC
    output reg  [      W-1:0] out_word,
    output wire               mic_write,
    output wire [ SLOT_W-1:0] mic_slot,
    output wire [      W-1:0] mic_word
);

  localparam N = LANES == 0 ? 1 : LANES;
  localparam BYTES = W / 8;
  localparam [31:0] LAST_WORD = WORDS - 1, LAST_LANE = N - 1, LOG_LANES = $clog2(N);
  // Only the first lane processes the AAD, in separate groups.
  localparam HEAD_APART = REPAIRED == 0 && N > 1;
  // The AAD's group contains payload, whose S requires a step before the step of B0.
  localparam LEADS = REPAIRED == 1 && N > 2;
  // The first block of the group for which CTR computes the first S.
  localparam [31:0] START = LEADS ? 0 : HEAD_APART ? 1 : N;
  localparam [31:0] GROUP = N;

  // ---- Steps

  reg live;  // there is a frame,
  reg leading;  // in the step before the step of B0,
  reg ending;  // or in its last step
  reg prepared;  // `row` has B0 of the waiting frame, `nonce` its nonce

  reg [SLOT_W:0] slot, ended_slot;
  reg [BLOCK_W-1:0] base;
  reg [9:0] last;
  reg [3:0] tail, aad;
  reg open;

  reg [9:0] fetch_first, ctr_first;  // first block of the group to read in the next step, and of CTR's group
  wire ctr_in_head = ctr_first[9:1] == 9'd0;

  wire aes_ready, fetching;
  wire ready = aes_ready && !fetching;
  wire ends = live && ending && ready;
  wire begins = prepared && ready && (!live || ending);
  wire goes_on = live && !ending && ready;
  wire leads = LEADS && begins;
  wire steps = goes_on || (begins && !LEADS);
  wire ends_next = goes_on && fetch_first > last;

  assign job_ready = begins;

  always @(posedge clk) begin
    if (begins) begin
      {slot, base, last, tail, aad, open} <= {job_slot, job_base, job_last, job_tail, job_aad, job_open};
      live <= 1'b1;
    end else if (ends) live <= 1'b0;
    if (begins || goes_on) begin
      leading <= leads;
      ending <= ends_next;
      if (!leads) fetch_first <= ctr_first;
      ctr_first <= ctr_first + (HEAD_APART && ctr_in_head ? 10'd1 : GROUP[9:0]);
    end
    if (ends_next || reset) begin
      fetch_first <= 10'd0;
      ctr_first <= START[9:0];
    end
    if (reset) live <= 1'b0;
  end

  // The key is in memory long before it is used, so a register can shorten the path from the memory.
  reg [127:0] key;
  always @(posedge clk) key <= key_word;

  // ---- Memory: 1, addresses; 2; 3, words

  reg run_1, run_2, run_3;
  reg copies;  // to the other memory
  reg makes_b0;
  reg in_head;
  reg [9:0] at;  // block of the frame
  reg [2:0] lane_1, lane_2, lane_3;
  reg [WORD_W-1:0] word_1, word_2, word_3, word_4;
  wire ends_block_1 = W == 128 || word_1 == LAST_WORD[WORD_W-1:0];
  wire ends_block_3 = W == 128 || word_3 == LAST_WORD[WORD_W-1:0];

  // In the standard form the nonce is in use until CTR's last block is in the AES core.
  wire nonce_free;
  wire prepares = job_valid && !prepared && !fetching && (!live || (LANES == 0 && ending && nonce_free));
  assign fetching = run_1 || run_2 || run_3;

  always @(posedge clk) begin
    if (steps || prepares) begin
      run_1 <= 1'b1;
      copies <= steps;
      makes_b0 <= prepares || (LANES != 0 && ends_next && job_valid);
      in_head <= HEAD_APART && fetch_first[9:1] == 9'd0;
      at <= fetch_first;
      lane_1 <= 3'd0;
      word_1 <= {WORD_W{1'b0}};
    end else if (run_1) begin
      if (W != 128) word_1 <= word_1 + 1'b1;
      if (ends_block_1) begin
        at <= at + 10'd1;
        lane_1 <= lane_1 + 3'd1;
        if (lane_1 == LAST_LANE[2:0]) run_1 <= 1'b0;
      end
    end
    if (begins) prepared <= 1'b0;
    else if (run_3 && !run_2 && makes_b0) prepared <= 1'b1;
    if (reset) {run_1, prepared} <= 2'd0;
  end

  wire [BLOCK_W+9:0] at_unused_above = {{BLOCK_W{1'b0}}, at};
  assign block_addr = base + at_unused_above[BLOCK_W-1:0];
  assign word_addr = word_1;
  assign nonce_addr = job_slot[SLOT_W-1:0];
  assign key_addr = job_key;
  assign key_enable = !live || (ending && nonce_free);

  // The valid octets of AAD 2 and of the payload's last block; and the block after the payload, which is copied unchanged.
  wire is_covered = is_text && !(in_head && lane_1 != 3'd0);
  wire is_payload = at[9:1] != 9'd0;
  wire [3:0] block_end = at == 10'd1 ? aad : at == last ? tail : 4'd15;
  wire is_text = at <= last;

  reg covered_2, covered_3, payload_2, payload_3, writes_2, writes_3;
  reg [BYTES-1:0] keep_2, keep_3;
  reg [BLOCK_W-1:0] block_2, block_3;

  integer octet;
  always @(posedge clk) begin
    for (octet = 0; octet < BYTES; octet = octet + 1)
      keep_2[octet] <= is_text && (W == 128 ? 0 : word_1 * BYTES) + octet <= block_end;
    keep_3 <= keep_2;
    {run_2, run_3} <= {run_1, run_2};
    {lane_2, lane_3} <= {lane_1, lane_2};
    {word_2, word_3, word_4} <= {word_1, word_2, word_3};
    {block_2, block_3} <= {block_addr, block_2};
    {payload_2, payload_3} <= {is_payload, payload_2};
    covered_2 <= makes_b0 ? lane_1 == 3'd0 || !HEAD_APART : is_covered;
    covered_3 <= covered_2;
    writes_2 <= copies && is_payload && !in_head && (at <= last || at == last + 10'd1);
    writes_3 <= writes_2;
    if (reset) {run_2, run_3} <= 2'd0;
  end

  // Flags of B0: CCM's for a MIC of 8 octets (RFC 3610 section 2.2), or the lane's
  // (docs/explanation/enhanced-ccmp.md).
  wire [7:0] flags = N == 1 || REPAIRED == 0 ? 8'h59 : {1'b1, LOG_LANES[1:0], lane_3, 2'b01};

  reg [W-1:0] keep_bits, b0_word;
  always @* begin
    for (octet = 0; octet < BYTES; octet = octet + 1) keep_bits[8*octet+:8] = {8{keep_3[octet]}};
    b0_word = nonce_word;
    if (W == 128 || word_3 == 0) b0_word[7:0] = flags;
  end

  reg [128*N-1:0] row;  // S, replaced word by word with the next input of CBC-MAC
  reg [N-1:0] covered;  // lanes with a block in `row`
  reg [111:8] nonce;
  wire [128*N-1:0] ctr_results;

  wire [W-1:0] stream = payload_3 ? row[W-1:0] & keep_bits : {W{1'b0}};
  wire [W-1:0] text = (block_word & keep_bits) ^ (open ? stream : {W{1'b0}});
  wire [W-1:0] row_word = makes_b0 ? b0_word : text;
  integer each;

  always @(posedge clk) begin
    if (steps) row <= ctr_results;
    else if (run_3) begin
      for (each = 0; each < N * WORDS - 1; each = each + 1) row[W*each+:W] <= row[W*each+W+:W];
      row[128*N-W+:W] <= row_word;
    end
    if (run_3 && ends_block_3) begin
      for (each = 0; each < N - 1; each = each + 1) covered[each] <= covered[each+1];
      covered[N-1] <= covered_3;
    end
    for (octet = 1; octet < 14; octet = octet + 1)
      if (run_3 && makes_b0 && {{32 - WORD_W{1'b0}}, word_3} == octet / BYTES)
        nonce[8*octet+:8] <= nonce_word[8*(octet%BYTES)+:8];
    out_write <= run_3 && writes_3 && !reset;
    out_block <= block_3;
    out_word <= block_word ^ stream;
  end

  // ---- Lanes

  wire takes_b0 = LEADS ? leading : begins;
  reg [N-1:0] chained;  // lanes that have processed a block
  wire [N-1:0] continues = takes_b0 ? {N{1'b0}} : HEAD_APART ? chained : {N{1'b1}};
  wire [N-1:0] counts = HEAD_APART ? chained : {N{1'b1}};
  always @(posedge clk) if (steps) chained <= takes_b0 ? covered : chained | covered;

  wire [128*N-1:0] chains, cbc_blocks, ctr_blocks;
  wire [N-1:0] ctr_take;
  wire [10:0] ctr_left = {1'b0, last} - {1'b0, ctr_first};

  genvar lane;
  generate
    for (lane = 0; lane < N; lane = lane + 1) begin : g_lane
      localparam [31:0] BEFORE = lane - 1;
      wire [9:0] counter = lane == 0 && ends_next ? 10'd0 : ctr_first + BEFORE[9:0];
      // The length of a frame matters from its second step on.
      assign ctr_take[lane] =
          ends_next ? lane == 0 :
          begins ? REPAIRED == 1 && N > 1 && START + lane >= 2 :
          $signed(ctr_left) > $signed(BEFORE[10:0]);
      // RFC 3610 section 2.3; octets 14 and 15 are the counter.
      assign ctr_blocks[128*lane+:128] = {counter[7:0], 6'd0, counter[9:8], nonce, 8'h01};
      assign cbc_blocks[128*lane+:128] =
          (continues[lane] ? chains[128*lane+:128] : 128'd0) ^ row[128*lane+:128];
    end

    if (LANES == 0) begin : g_by_turns
      reg in_cbc, wants_ctr;
      reg [127:0] chain;
      reg [15:0] counter;
      wire aes_busy;
      wire [127:0] aes_result;
      wire turns = in_cbc && !aes_busy;

      always @(posedge clk) begin
        if (steps) begin
          in_cbc <= 1'b1;
          wants_ctr <= ctr_take[0];
          counter <= ctr_blocks[127:112];
        end else if (turns) begin
          in_cbc <= 1'b0;
          chain <= aes_result;
        end
        if (reset) in_cbc <= 1'b0;
      end

      aes_iter #(
          .LANES(1)
      ) aes (
          .clk(clk),
          .reset(reset),
          .start(steps || (turns && wants_ctr)),
          .key(key),
          .take(1'b1),
          .blocks(in_cbc ? {counter, ctr_blocks[111:0]} : cbc_blocks),
          .busy(aes_busy),
          .results(aes_result)
      );

      assign aes_ready = !aes_busy && !in_cbc;
      assign nonce_free = !in_cbc;
      assign chains = chain;
      assign ctr_results = aes_result;
    end else begin : g_parallel
      wire aes_busy;

      aes_iter #(
          .LANES(2 * N)
      ) aes (
          .clk(clk),
          .reset(reset),
          .start(begins || goes_on),
          .key(key),
          .take({ctr_take, steps ? covered : {N{1'b0}}}),
          .blocks({ctr_blocks, cbc_blocks}),
          .busy(aes_busy),
          .results({ctr_results, chains})
      );

      assign aes_ready = !aes_busy;
      assign nonce_free = 1'b1;
    end
  endgenerate

  // ---- The MIC: the sum of the lanes, and S0

  reg [63:0] mic, mic_sum;
  reg mic_run, mic_second;  // a word of the MIC is written; it is the second 32-bit word

  always @* begin
    mic_sum = ctr_results[63:0];
    for (octet = 0; octet < N; octet = octet + 1)
      mic_sum = mic_sum ^ (counts[octet] ? chains[128*octet+:64] : 64'd0);
  end

  always @(posedge clk) begin
    if (ends) begin
      mic <= mic_sum;
      ended_slot <= slot;
    end else if (W == 32) mic <= {32'd0, mic[63:32]};
    mic_run <= ends || (W == 32 && mic_run && !mic_second);
    mic_second <= mic_run;
    done_valid <= mic_run && (W != 32 || mic_second);
    done_slot <= ended_slot;
    if (reset) {mic_run, done_valid} <= 2'd0;
  end

  assign mic_write = mic_run;
  assign mic_slot = ended_slot[SLOT_W-1:0];
  generate
    if (W == 128) begin : g_mic_in_one
      assign mic_word = {64'd0, mic};
    end else begin : g_mic_in_words
      assign mic_word = mic[W-1:0];
    end
    if (W == 32) begin : g_address
      assign out_word_addr = mic_run ? {1'b0, mic_second} : word_4;
    end else begin : g_one_word
      // A MIC is one word.
      assign out_word_addr = mic_run ? {WORD_W{1'b0}} : word_4;
    end
  endgenerate

endmodule

`default_nettype wire
