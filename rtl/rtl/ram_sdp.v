// Memory with one port to write and one to read, with an output register: a read takes two cycles.
//
// What is read while it is written, in either cycle, is undefined. Every memory of this library is one of these, so that a
// target whose block RAM needs another description (rtl/syn) replaces this file alone.
`default_nettype none

module ram_sdp #(
    parameter WIDTH = 32,
    parameter DEPTH = 512,
    parameter ADDR_W = $clog2(DEPTH)
) (
    input  wire              clk,
    input  wire              write,
    input  wire [ADDR_W-1:0] write_addr,
    input  wire [ WIDTH-1:0] write_data,
    input  wire              enable,      // of both registers of the read
    input  wire [ADDR_W-1:0] read_addr,
    output reg  [ WIDTH-1:0] read_data
);

  reg [WIDTH-1:0] memory[0:DEPTH-1];
  reg [WIDTH-1:0] word;

  always @(posedge clk) begin
    if (write) memory[write_addr] <= write_data;
    if (enable) begin
      word <= memory[read_addr];
      read_data <= word;
    end
  end

endmodule

`default_nettype wire
