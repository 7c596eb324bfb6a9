// Counts of each verdict since reset, modulo 2^COUNT_W. A count is valid three cycles after `addr`, if `ready` was 1 in
// the cycle of `addr`.
`default_nettype none

module verdict_counts #(
    parameter COUNT_W = 32
) (
    input wire clk,
    input wire reset,

    input wire       event_valid,  // at most every fifth cycle
    input wire [3:0] event_verdict,

    input  wire [        3:0] addr,
    output wire               ready,
    output wire [COUNT_W-1:0] count
);

  reg clearing;
  reg [3:0] at;  // the verdict that is being cleared or counted
  reg [3:0] read_addr;
  reg [4:0] stage;
  reg [COUNT_W-1:0] so_far, more;

  assign ready = !clearing && !event_valid && stage == 5'd0;

  always @(posedge clk) begin
    stage <= {stage[3:0], event_valid && !clearing};
    read_addr <= event_valid ? event_verdict : addr;
    so_far <= count;
    more <= clearing ? {COUNT_W{1'b0}} : so_far + 1'b1;
    if (clearing) begin
      at <= at + 4'd1;
      if (&at) clearing <= 1'b0;
    end else if (event_valid) at <= event_verdict;
    if (reset) begin
      clearing <= 1'b1;
      at <= 4'd0;
      more <= {COUNT_W{1'b0}};
      stage <= 5'd0;
    end
  end

  ram_sdp #(
      .WIDTH(COUNT_W),
      .DEPTH(16)
  ) counts (
      .clk(clk),
      .write(clearing || stage[4]),
      .write_addr(at),
      .write_data(more),
      .enable(1'b1),
      .read_addr(read_addr),
      .read_data(count)
  );

endmodule

`default_nettype wire
