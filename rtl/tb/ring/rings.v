// Rings of all depths from 1 to DEPTHS, so that their test requires a single build.
`default_nettype none

module rings #(
    parameter DEPTHS = 40,
    parameter WIDTH = 8
) (
    input  wire                    clk,
    input  wire                    reset,
    input  wire                    turn,
    input  wire [       WIDTH-1:0] in,
    output wire [WIDTH*DEPTHS-1:0] out
);

  genvar depth;
  generate
    for (depth = 1; depth <= DEPTHS; depth = depth + 1) begin : g_depth
      ring #(
          .DEPTH(depth),
          .WIDTH(WIDTH)
      ) one (
          .clk(clk),
          .reset(reset),
          .turn(turn),
          .in(in),
          .out(out[WIDTH*(depth-1)+:WIDTH])
      );
    end
  endgenerate

endmodule

`default_nettype wire
