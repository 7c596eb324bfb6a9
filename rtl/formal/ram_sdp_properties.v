// A written word is read two enabled cycles after its address, whatever else happens. The proof checks one arbitrary
// address.
`default_nettype none

module ram_sdp_properties #(
    parameter WIDTH = 4,
    parameter DEPTH = 8,
    parameter ADDR_W = 3
) (
    input wire clk,
    input wire write,
    input wire [ADDR_W-1:0] write_addr,
    input wire [WIDTH-1:0] write_data,
    input wire enable,
    input wire [ADDR_W-1:0] read_addr
);

  wire [WIDTH-1:0] read_data;

  ram_sdp #(
      .WIDTH(WIDTH),
      .DEPTH(DEPTH)
  ) dut (
      .clk(clk),
      .write(write),
      .write_addr(write_addr),
      .write_data(write_data),
      .enable(enable),
      .read_addr(read_addr),
      .read_data(read_data)
  );

  (* anyconst *) wire [ADDR_W-1:0] addr;
  reg [WIDTH-1:0] held, due_1, due_2;
  reg known, waits_1, waits_2;
  initial {known, waits_1, waits_2} = 3'b000;

  always @(posedge clk) begin
    if (write && write_addr == addr) {known, held} <= {1'b1, write_data};
    if (enable) begin
      // Reading a word while it is written is undefined.
      waits_1 <= known && read_addr == addr && !(write && write_addr == addr);
      due_1 <= held;
      waits_2 <= waits_1;
      due_2 <= due_1;
    end
  end

  always @* if (waits_2) assert (read_data == due_2);

endmodule

`default_nettype wire
