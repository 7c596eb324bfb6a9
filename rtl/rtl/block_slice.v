// A memory of frame blocks: 32 bits of each word.
//
// A memory of this size is spread over the device, so each slice has its own input registers close to it. Map each slice
// separately (keep_hierarchy): otherwise tools merge the registers of all slices.
`default_nettype none

module block_slice #(
    parameter DEPTH = 512,
    parameter READ_CYCLES = 2,  // 2, or 3 with a register for the address
    parameter ADDR_W = $clog2(DEPTH)
) (
    input  wire              clk,
    input  wire              write,      // takes effect one cycle later than in ram_sdp
    input  wire [ADDR_W-1:0] write_addr,
    input  wire [      31:0] write_data,
    input  wire              enable,     // of all read registers
    input  wire [ADDR_W-1:0] read_addr,
    output wire [      31:0] read_data
);

  reg write_1;
  reg [ADDR_W-1:0] write_addr_1;
  reg [31:0] write_data_1;
  always @(posedge clk) {write_1, write_addr_1, write_data_1} <= {write, write_addr, write_data};

  wire [ADDR_W-1:0] read_at;
  generate
    if (READ_CYCLES == 3) begin : g_held
      reg [ADDR_W-1:0] read_addr_1;
      always @(posedge clk) if (enable) read_addr_1 <= read_addr;
      assign read_at = read_addr_1;
    end else begin : g_direct
      assign read_at = read_addr;
    end
  endgenerate

  ram_sdp #(
      .WIDTH(32),
      .DEPTH(DEPTH)
  ) words (
      .clk(clk),
      .write(write_1),
      .write_addr(write_addr_1),
      .write_data(write_data_1),
      .enable(enable),
      .read_addr(read_at),
      .read_data(read_data)
  );

endmodule

`default_nettype wire
