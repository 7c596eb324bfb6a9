// CBC-MAC of a message of whole blocks, the CBC design of Hayajneh et al., "An Enhanced WLAN Security System With FPGA
// Implementation for Multimedia Applications", Figs. 3, 4 and 8.
//
//   LANES    AES cores
//   1        one chain: the standard design
//   2, 4, 8  one chain per core, each from zero; the MAC is the sum of the chains: the parallel design
//
// With more than one lane, the MAC can be forged (docs/explanation/enhanced-ccmp.md): this module is for comparison only.
//
// The blocks of a message go to the lanes in turn, LANES blocks at a time: a group. A group takes 11 cycles (aes_iter). The
// MAC is available one cycle after the last group, while the next message may already have started.
`default_nettype none

module cbc_lanes #(
    parameter LANES = 1
) (
    input wire clk,
    input wire reset,

    // A group. Only the last group of a message may have fewer blocks than lanes: those of the first lanes.
    input  wire                 s_valid,
    output wire                 s_ready,
    input  wire [        127:0] s_key,    // the same in all groups of a message
    input  wire [    LANES-1:0] s_take,   // lanes with a block
    input  wire [128*LANES-1:0] s_data,
    input  wire                 s_last,

    output reg         m_valid,  // for one cycle
    output reg [127:0] m_data
);

  reg running;  // a group is in the AES cores, or its results are available,
  reg last;  // and it is the last one of its message
  reg first;  // the next group is the first one of a message
  reg [LANES-1:0] chained;  // lanes that have taken a block of the message

  wire busy;
  wire start = s_valid && s_ready;
  wire ends = running && !busy;
  wire [LANES-1:0] continues = first ? {LANES{1'b0}} : chained;
  assign s_ready = !busy;

  always @(posedge clk) begin
    if (start) begin
      last <= s_last;
      first <= s_last;
      chained <= continues | s_take;
    end
    running <= start || (running && busy);
    m_valid <= ends && last;
    if (reset) {running, first, m_valid} <= 3'b010;
  end

  wire [128*LANES-1:0] chains, blocks;

  genvar lane;
  generate
    for (lane = 0; lane < LANES; lane = lane + 1) begin : g_lane
      assign blocks[128*lane+:128] =
          s_data[128*lane+:128] ^ (chains[128*lane+:128] & {128{continues[lane]}});
    end
  endgenerate

  aes_iter #(
      .LANES(LANES)
  ) aes (
      .clk(clk),
      .reset(reset),
      .start(start),
      .key(s_key),
      .take(s_take),
      .blocks(blocks),
      .busy(busy),
      .results(chains)
  );

  reg [127:0] sum;
  integer each;
  always @* begin
    sum = 128'd0;
    for (each = 0; each < LANES; each = each + 1) sum = sum ^ (chains[128*each+:128] & {128{chained[each]}});
  end
  always @(posedge clk) if (ends) m_data <= sum;

endmodule

`default_nettype wire
