// ram_sdp with only the behaviour that all targets share: a word that is written in either cycle of its read is returned
// with a wrong value.
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
    input  wire              enable,
    input  wire [ADDR_W-1:0] read_addr,
    output reg  [ WIDTH-1:0] read_data
);

  reg [WIDTH-1:0] memory[0:DEPTH-1];
  reg [ADDR_W-1:0] read_at;
  reg is_undefined;
  wire turns_undefined = write && write_addr == read_at;

  always @(posedge clk) begin
    if (write) memory[write_addr] <= write_data;
    is_undefined <= enable ? write && write_addr == read_addr : is_undefined || turns_undefined;
    if (enable) begin
      read_at <= read_addr;
      read_data <= is_undefined || turns_undefined ? ~memory[read_at] : memory[read_at];
    end
  end

endmodule

`default_nettype wire
