// Memory with one write port and one read port with an output register: a read takes two cycles.
//
// Reading a word that is written in either of these cycles returns undefined data. Every memory of this library is a
// ram_sdp, so a target whose block RAM requires another description (rtl/syn) replaces only this file.
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
    input  wire              enable,      // of both read registers
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
