// A ring of DEPTH values: `out` is the oldest value, and `turn` replaces it with `in`.
//
// After reset all values are zero. Up to eight values are registers; more are a memory with asynchronous read, except for
// the oldest value.
`default_nettype none

module ring #(
    parameter DEPTH = 3,
    parameter WIDTH = 8
) (
    input  wire             clk,
    input  wire             reset,
    input  wire             turn,
    input  wire [WIDTH-1:0] in,
    output wire [WIDTH-1:0] out
);

  generate
    if (DEPTH == 0) begin : g_none
      wire inputs_unused = &{clk, reset, turn};
      assign out = in;
    end else if (DEPTH <= 8) begin : g_registers
      reg [WIDTH*DEPTH-1:0] values;
      wire [WIDTH*DEPTH-1:0] values_next;
      wire [WIDTH-1:0] out_unused;
      assign out = values[WIDTH-1:0];
      assign {values_next, out_unused} = {in, values};
      always @(posedge clk) begin
        if (turn) values <= values_next;
        if (reset) values <= {WIDTH * DEPTH{1'b0}};
      end
    end else begin : g_memory
      // The oldest value is a register, so that the logic after `out` does not wait for the memory.
      localparam BEHIND = DEPTH - 1;
      localparam ADDR_W = $clog2(BEHIND);
      reg [WIDTH-1:0] values[0:BEHIND-1];
      reg [WIDTH-1:0] oldest;
      reg [ADDR_W-1:0] at;
      reg written;  // every value was written since reset
      assign out = oldest;
      always @(posedge clk) begin
        if (turn) begin
          oldest <= written ? values[at] : {WIDTH{1'b0}};
          values[at] <= in;
          at <= at == BEHIND - 1 ? {ADDR_W{1'b0}} : at + 1'b1;
          if (at == BEHIND - 1) written <= 1'b1;
        end
        if (reset) begin
          oldest <= {WIDTH{1'b0}};
          at <= {ADDR_W{1'b0}};
          written <= 1'b0;
        end
      end
    end
  endgenerate

endmodule

`default_nettype wire
