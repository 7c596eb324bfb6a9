// The output of a ring is its input DEPTH turns earlier, or zero if that was before the reset.
`default_nettype none

module ring_properties #(
    parameter DEPTH = 3,
    parameter WIDTH = 2
) (
    input wire clk,
    input wire reset,
    input wire turn,
    input wire [WIDTH-1:0] in
);

  wire [WIDTH-1:0] out;

  ring #(
      .DEPTH(DEPTH),
      .WIDTH(WIDTH)
  ) dut (
      .clk(clk),
      .reset(reset),
      .turn(turn),
      .in(in),
      .out(out)
  );

  reg [WIDTH*DEPTH-1:0] model;
  reg began;
  initial began = 1'b0;

  always @(posedge clk) begin
    began <= 1'b1;
    if (turn) model <= {in, model[WIDTH*DEPTH-1:WIDTH]};
    if (reset) model <= {WIDTH * DEPTH{1'b0}};
  end

  always @* begin
    if (!began) assume (reset);
    if (began) assert (out == model[WIDTH-1:0]);
  end

endmodule

`default_nettype wire
