// ram_sdp for Gowin GW2A: block RAM with its own output register, which memory inference does not use.
//
// A block is 36 bits wide up to 512 words, and half as wide for each doubling. From 4096 words on, it has no ninth bits.
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

  localparam CHUNK = DEPTH <= 512 ? 36 : DEPTH <= 1024 ? 18 : DEPTH <= 2048 ? 9 : DEPTH <= 4096 ? 4 : DEPTH <= 8192 ? 2 : 1;
  localparam LOW_BITS = CHUNK == 36 ? 5 : CHUNK == 18 ? 4 : CHUNK == 9 ? 3 : CHUNK == 4 ? 2 : CHUNK == 2 ? 1 : 0;
  // The lowest bits of the write address are the write enables of the octets, if a word has several.
  localparam [13:0] OCTETS = CHUNK == 36 ? 14'd15 : CHUNK == 18 ? 14'd3 : 14'd0;
  localparam CHUNKS = (WIDTH + CHUNK - 1) / CHUNK;

  wire [CHUNKS*CHUNK-1:0] padded_in = write_data;
  wire [CHUNKS*CHUNK-1:0] padded_out;
  assign read_data = padded_out[WIDTH-1:0];

  wire [13:0] write_word = write_addr;
  wire [13:0] read_word = read_addr;
  wire [13:0] write_at = (write_word << LOW_BITS) | OCTETS;
  wire [13:0] read_at = read_word << LOW_BITS;

  genvar chunk;
  generate
    for (chunk = 0; chunk < CHUNKS; chunk = chunk + 1) begin : g_chunk
      if (CHUNK >= 9) begin : g_nines
        wire [35:0] in_chunk = padded_in[CHUNK*chunk+:CHUNK];
        wire [35:0] out_chunk;
        assign padded_out[CHUNK*chunk+:CHUNK] = out_chunk[CHUNK-1:0];

        SDPX9B #(
            .READ_MODE(1'b1),
            .BIT_WIDTH_0(CHUNK),
            .BIT_WIDTH_1(CHUNK),
            .BLK_SEL_0(3'b000),
            .BLK_SEL_1(3'b000),
            .RESET_MODE("SYNC")
        ) ram (
            .CLKA(clk),
            .CEA(write),
            .RESETA(1'b0),
            .ADA(write_at),
            .DI(in_chunk),
            .BLKSELA(3'b000),
            .CLKB(clk),
            .CEB(enable),
            .OCE(enable),
            .RESETB(1'b0),
            .ADB(read_at),
            .BLKSELB(3'b000),
            .DO(out_chunk)
        );
      end else begin : g_bits
        wire [31:0] in_chunk = padded_in[CHUNK*chunk+:CHUNK];
        wire [31:0] out_chunk;
        assign padded_out[CHUNK*chunk+:CHUNK] = out_chunk[CHUNK-1:0];

        SDPB #(
            .READ_MODE(1'b1),
            .BIT_WIDTH_0(CHUNK),
            .BIT_WIDTH_1(CHUNK),
            .BLK_SEL_0(3'b000),
            .BLK_SEL_1(3'b000),
            .RESET_MODE("SYNC")
        ) ram (
            .CLKA(clk),
            .CEA(write),
            .RESETA(1'b0),
            .ADA(write_at),
            .DI(in_chunk),
            .BLKSELA(3'b000),
            .CLKB(clk),
            .CEB(enable),
            .OCE(enable),
            .RESETB(1'b0),
            .ADB(read_at),
            .BLKSELB(3'b000),
            .DO(out_chunk)
        );
      end
    end
  endgenerate

endmodule

`default_nettype wire
