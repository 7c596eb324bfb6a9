// mpdu_out alone, with arbitrary memory contents. Its streams follow the ready/valid rules, no word of a frame is valid
// unless the frame's verdict is 0, and no slot is freed that was not in use.
`default_nettype none

module mpdu_out_properties #(
    parameter W = 64,
    parameter SLOT_W = 2,
    parameter KEY_W = 2,
    parameter BLOCK_W = 4,
    parameter TAG_W = 2,
    parameter BYTES = W / 8
) (
    input wire clk,
    input wire reset,
    input wire frame_valid,
    input wire done_valid,
    input wire v_ready,
    input wire m_ready
);

  wire v_valid, v_open, m_valid, m_last, m_open;
  wire [3:0] v_verdict;
  wire [KEY_W-1:0] v_key, m_key;
  wire [TAG_W-1:0] v_tag, m_tag;
  wire [W-1:0] m_data;
  wire [BYTES-1:0] m_keep;
  wire [SLOT_W:0] oldest_slot;

  // Inputs that are not connected have arbitrary values in each cycle.
  mpdu_out #(
      .W(W),
      .SLOT_W(SLOT_W),
      .KEY_W(KEY_W),
      .BLOCK_W(BLOCK_W),
      .TAG_W(TAG_W)
  ) dut (
      .clk(clk),
      .reset(reset),
      .frame_valid(frame_valid),
      .done_valid(done_valid),
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

  wire [4+1+KEY_W+TAG_W-1:0] v_all = {v_verdict, v_open, v_key, v_tag};
  wire [W+BYTES+1+1+KEY_W+TAG_W-1:0] m_all = {m_data, m_keep, m_last, m_open, m_key, m_tag};

  reg began, v_waits, m_waits, told;
  reg [4+1+KEY_W+TAG_W-1:0] v_was;
  reg [W+BYTES+1+1+KEY_W+TAG_W-1:0] m_was;
  reg [3:0] verdict;
  reg [SLOT_W:0] came;
  initial {began, v_waits, m_waits, told} = 4'b0000;
  wire [SLOT_W:0] inside = came - oldest_slot;

  always @(posedge clk) begin
    began <= 1'b1;
    v_waits <= v_valid && !v_ready && !reset;
    m_waits <= m_valid && !m_ready && !reset;
    v_was <= v_all;
    m_was <= m_all;
    if (v_valid && v_ready) {told, verdict} <= {1'b1, v_verdict};
    came <= came + frame_valid;
    if (reset) begin
      came <= 0;
      told <= 1'b0;
    end
  end

  always @* begin
    if (v_waits && !reset) assert (v_valid && v_all == v_was);
    if (m_waits && !reset) assert (m_valid && m_all == m_was);
    if (!began) assume (reset);
    // Proved by mpdu_in_properties.
    if (inside == 1 << SLOT_W) assume (!frame_valid);
    if (began && !reset) begin
      if (m_valid) assert (told && verdict == 4'd0);
      assert (inside <= 1 << SLOT_W);
    end
  end

endmodule

`default_nettype wire
