// CTR encryption or decryption of a message of whole blocks, the CTR design of Hayajneh et al., "An Enhanced WLAN Security
// System With FPGA Implementation for Multimedia Applications", Fig. 9.
//
//   LANES    AES cores
//   1        the standard design
//   2, 4, 8  the parallel design; the result is the same
//
// A group of LANES consecutive blocks takes 11 cycles (aes_iter) and leaves one cycle later, while the next group may
// already have started. Counter blocks are those of CCM (RFC 3610 section 2.3): octets 14 and 15 count the blocks.
`default_nettype none

module ctr_lanes #(
    parameter LANES = 1
) (
    input wire clk,
    input wire reset,

    // A group.
    input  wire                 s_valid,
    output wire                 s_ready,
    input  wire [        127:0] s_key,    // the same in all groups of a message
    input  wire [        127:0] s_count,  // with the first group of a message: the counter block of its first block
    input  wire [128*LANES-1:0] s_data,
    input  wire                 s_last,

    // For one cycle: the group, encrypted or decrypted.
    output reg                  m_valid,
    output reg [128*LANES-1:0] m_data,
    output reg                  m_last
);

  localparam [31:0] GROUP = LANES;

  reg running;  // a group is in the AES cores, or its results are available,
  reg last;  // and it is the last one of its message
  reg first;  // the next group is the first one of a message
  reg [111:0] nonce;  // octets 0 to 13 of the message's counter blocks
  reg [15:0] next;  // the counter of the next group's first block
  reg [128*LANES-1:0] data;

  wire busy;
  wire start = s_valid && s_ready;
  wire ends = running && !busy;
  wire [15:0] count = first ? {s_count[119:112], s_count[127:120]} : next;
  wire [111:0] octets = first ? s_count[111:0] : nonce;
  assign s_ready = !busy;

  always @(posedge clk) begin
    if (start) begin
      last <= s_last;
      first <= s_last;
      nonce <= octets;
      next <= count + GROUP[15:0];
      data <= s_data;
    end
    running <= start || (running && busy);
    m_valid <= ends;
    m_last <= ends && last;
    if (reset) {running, first, m_valid, m_last} <= 4'b0100;
  end

  wire [128*LANES-1:0] streams, blocks;

  genvar lane;
  generate
    for (lane = 0; lane < LANES; lane = lane + 1) begin : g_lane
      localparam [31:0] LANE = lane;
      wire [15:0] own = count + LANE[15:0];
      assign blocks[128*lane+:128] = {own[7:0], own[15:8], octets};
    end
  endgenerate

  aes_iter #(
      .LANES(LANES)
  ) aes (
      .clk(clk),
      .reset(reset),
      .start(start),
      .key(s_key),
      .take({LANES{1'b1}}),
      .blocks(blocks),
      .busy(busy),
      .results(streams)
  );

  always @(posedge clk) if (ends) m_data <= data ^ streams;

endmodule

`default_nettype wire
