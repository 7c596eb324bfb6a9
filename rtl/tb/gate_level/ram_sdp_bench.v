// Compares two descriptions of ram_sdp: the library's, as `ram_sdp_library`, and a target's. Each word is written before
// it is read, and no word is read while it is written, which is undefined. Prints "equal", or the first difference.
`timescale 1ns / 1ns
`default_nettype none

module ram_sdp_bench #(
    parameter WIDTH = 32,
    parameter DEPTH = 512,
    parameter CYCLES = 1500,
    parameter LATE = 0  // 1: the target reads in the second cycle, so a word that is being read is not written
);

  localparam ADDR_W = $clog2(DEPTH);

  reg clk = 1'b0;
  reg write, enable;
  reg [ADDR_W-1:0] write_addr, read_addr;
  reg [ADDR_W-1:0] reading;  // address of the read in its second cycle
  reg [WIDTH-1:0] write_data;
  wire [WIDTH-1:0] library_data, target_data;
  integer cycle, part, seed;
  reg [31:0] random;
  reg [2:0] enabled;  // reads since all words were written

  ram_sdp_library #(
      .WIDTH(WIDTH),
      .DEPTH(DEPTH)
  ) in_library (
      .clk(clk),
      .write(write),
      .write_addr(write_addr),
      .write_data(write_data),
      .enable(enable),
      .read_addr(read_addr),
      .read_data(library_data)
  );

  ram_sdp #(
      .WIDTH(WIDTH),
      .DEPTH(DEPTH)
  ) in_target (
      .clk(clk),
      .write(write),
      .write_addr(write_addr),
      .write_data(write_data),
      .enable(enable),
      .read_addr(read_addr),
      .read_data(target_data)
  );

  initial begin
    seed = 1;
    enabled = 3'd0;
    for (cycle = 0; cycle < DEPTH + CYCLES; cycle = cycle + 1) begin
      for (part = 0; part < WIDTH; part = part + 1) begin
        random = $random(seed);
        write_data[part] = random[16];
      end
      random = $random(seed);
      write = cycle < DEPTH || random[20];
      enable = cycle >= DEPTH && random[24:23] != 2'd0;
      write_addr = cycle < DEPTH ? cycle : random[ADDR_W-1:0] % DEPTH;
      if (LATE == 1 && enabled != 3'd0 && write_addr == reading) write = 1'b0;
      random = $random(seed);
      read_addr = random[ADDR_W-1:0] % DEPTH;
      if (read_addr == write_addr) read_addr = (read_addr + 1) % DEPTH;
      #1 clk = 1'b1;
      #1 clk = 1'b0;
      if (enable) reading = read_addr;
      if (enable && enabled != 3'd2) enabled = enabled + 3'd1;
      if (enabled == 3'd2 && library_data !== target_data) begin
        $display("cycle %0d: %h in the library, %h in the target", cycle, library_data, target_data);
        $finish;
      end
    end
    $display("equal");
    $finish;
  end

endmodule

`default_nettype wire
