// ram_sdp for Lattice iCE40: plain block RAM. Inferred memory would get registers and comparisons that define the data of
// reads during writes.
//
// A block of 4 kbit has up to 256 words of 16 bits, or half as many bits for each doubling. Small memories are registers,
// because blocks are scarce. The first cycle of a read registers the address, which has fewer bits than the word.
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
    output wire [ WIDTH-1:0] read_data
);

  localparam MODE = DEPTH <= 256 ? 0 : DEPTH <= 512 ? 1 : DEPTH <= 1024 ? 2 : 3;
  localparam CHUNK = 16 >> MODE;
  localparam CHUNKS = (WIDTH + CHUNK - 1) / CHUNK;
  // Distance of a narrow word's bits in the block's ports; the first bit is at FIRST.
  localparam APART = 1 << MODE;
  localparam FIRST = MODE == 0 || MODE == 1 ? 0 : MODE == 2 ? 1 : 3;

  reg [ADDR_W-1:0] read_at;
  always @(posedge clk) if (enable) read_at <= read_addr;

  genvar chunk, index;
  generate
    if (DEPTH <= 8) begin : g_registers
      reg [WIDTH-1:0] memory[0:DEPTH-1];
      reg [WIDTH-1:0] word;
      assign read_data = word;

      always @(posedge clk) begin
        if (write) memory[write_addr] <= write_data;
        if (enable) word <= memory[read_at];
      end
    end else begin : g_blocks
      wire [CHUNKS*CHUNK-1:0] padded_in = write_data;
      wire [CHUNKS*CHUNK-1:0] padded_out;
      wire [10:0] padded_write_addr = write_addr;
      wire [10:0] padded_read_at = read_at;
      assign read_data = padded_out[WIDTH-1:0];

      for (chunk = 0; chunk < CHUNKS; chunk = chunk + 1) begin : g_chunk
        wire [15:0] in_block, out_block;
        for (index = 0; index < 16; index = index + 1) begin : g_bit
          if (index % APART == FIRST) begin : g_used
            assign in_block[index] = padded_in[CHUNK*chunk+index/APART];
            assign padded_out[CHUNK*chunk+index/APART] = out_block[index];
          end else begin : g_unused
            assign in_block[index] = 1'b0;
          end
        end

        SB_RAM40_4K #(
            .READ_MODE(MODE),
            .WRITE_MODE(MODE)
        ) ram (
            .RCLK(clk),
            .RCLKE(enable),
            .RE(1'b1),
            .RADDR(padded_read_at),
            .RDATA(out_block),
            .WCLK(clk),
            .WCLKE(write),
            .WE(1'b1),
            .WADDR(padded_write_addr),
            .WDATA(in_block),
            .MASK(16'd0)
        );
      end
    end
  endgenerate

endmodule

`default_nettype wire
