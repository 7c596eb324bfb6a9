// mpdu_in alone, with an arbitrary stream, while blocks and slots become free at arbitrary times. The frames inside never
// take more slots or blocks than exist, and no block of theirs is overwritten. Once s_ready is 1, it stays 1 until a word
// is taken.
`default_nettype none

module mpdu_in_properties #(
    parameter W = 128,
    parameter SLOT_W = 2,
    parameter KEY_W = 1,
    parameter BLOCK_W = 4,
    parameter TAG_W = 1,
    parameter MAX_OCTETS = 64
) (
    input wire clk,
    input wire reset,
    input wire s_valid,
    input wire [BLOCK_W:0] frees_blocks,  // numbers of blocks and slots that become free
    input wire [SLOT_W:0] frees_slots
);

  wire s_ready, block_write, frame_valid;
  wire [BLOCK_W-1:0] block_addr;
  wire [BLOCK_W:0] frame_end;
  wire empty, pause;

  reg [BLOCK_W:0] oldest_block, end_;
  reg [SLOT_W:0] oldest_slot, slots;

  mpdu_in #(
      .W(W),
      .SLOT_W(SLOT_W),
      .KEY_W(KEY_W),
      .BLOCK_W(BLOCK_W),
      .TAG_W(TAG_W),
      .MAX_OCTETS(MAX_OCTETS)
  ) dut (
      .clk(clk),
      .reset(reset),
      .s_valid(s_valid),
      .s_ready(s_ready),
      .pause(pause),
      .empty(empty),
      .block_write(block_write),
      .block_addr(block_addr),
      .oldest_block(oldest_block),
      .oldest_slot(oldest_slot),
      .frame_valid(frame_valid),
      .frame_end(frame_end)
  );

  reg began, waits;
  initial {began, waits} = 2'b00;
  wire [BLOCK_W:0] blocks_inside = end_ - oldest_block;
  wire [SLOT_W:0] slots_inside = slots - oldest_slot;
  wire [BLOCK_W:0] blocks_then = frame_end - oldest_block;
  wire [BLOCK_W-1:0] from_oldest = block_addr - oldest_block[BLOCK_W-1:0];

  // key_table waits for `empty` from two cycles after it raised `pause`. From then on `empty` must stay.
  (* anyseq *) wire pause_any;
  assign pause = pause_any;
  reg paused_1, paused_2, was_empty;

  always @(posedge clk) begin
    began <= 1'b1;
    waits <= s_ready && !s_valid && !reset;
    oldest_block <= oldest_block + frees_blocks;
    oldest_slot <= oldest_slot + frees_slots;
    if (frame_valid) begin
      end_ <= frame_end;
      slots <= slots + 1'b1;
    end
    paused_1 <= pause;
    paused_2 <= pause && paused_1;
    was_empty <= empty && paused_2 && pause;
    if (reset) {oldest_block, end_, oldest_slot, slots, paused_1, paused_2, was_empty} <= 0;
  end

  always @* begin
    if (!began) assume (reset);
    assume (frees_blocks <= blocks_inside && frees_slots <= slots_inside);
    if (began && !reset) begin
      if (waits) assert (s_ready);
      assert (slots_inside <= 1 << SLOT_W);
      assert (blocks_inside <= 1 << BLOCK_W);
      if (frame_valid) assert (blocks_then <= 1 << BLOCK_W && slots_inside < 1 << SLOT_W);
      if (block_write) assert (from_oldest >= blocks_inside);
      if (was_empty && pause) assert (empty);
    end
  end

endmodule

`default_nettype wire
