// key_table alone, with arbitrary packets. Once k_ready is 1, it stays 1 until a word is taken. From the second cycle after
// that, the core must not start a frame.
`default_nettype none

module key_table_properties #(
    parameter KEY_W = 1
) (
    input wire clk,
    input wire reset,
    input wire k_valid
);

  wire k_ready, pause;

  // Inputs that are not connected have arbitrary values in each cycle.
  key_table #(
      .KEY_W(KEY_W)
  ) dut (
      .clk(clk),
      .reset(reset),
      .k_valid(k_valid),
      .k_ready(k_ready),
      .pause(pause)
  );

  reg began, waits, taken_1, taken_2;
  initial {began, waits, taken_1, taken_2} = 4'b0000;

  always @(posedge clk) begin
    began <= 1'b1;
    waits <= k_ready && !k_valid && !reset;
    taken_1 <= k_ready && k_valid && !reset;
    taken_2 <= taken_1 && !reset;
  end

  always @* begin
    if (!began) assume (reset);
    if (began && waits && !reset) assert (k_ready);
    if (began && taken_2 && !reset) assert (pause);
  end

endmodule

`default_nettype wire
