// ram_sdp for counts on Cyclone IV E: the required number of M9K blocks. An M9K is 36 bits wide up to 256 words, and half
// as wide for each doubling. yosys has no rule for this family's memories and would map them to registers.
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

  localparam CHUNK = DEPTH <= 256 ? 36 : DEPTH <= 512 ? 18 : DEPTH <= 1024 ? 9 : DEPTH <= 2048 ? 4 : DEPTH <= 4096 ? 2 : 1;
  localparam CHUNKS = (WIDTH + CHUNK - 1) / CHUNK;

  wire [CHUNKS*CHUNK-1:0] padded_in = write_data;
  wire [CHUNKS*CHUNK-1:0] padded_out;
  assign read_data = padded_out[WIDTH-1:0];

  genvar chunk;
  generate
    for (chunk = 0; chunk < CHUNKS; chunk = chunk + 1) begin : g_chunk
      m9k #(
          .WIDTH(CHUNK),
          .ADDR_W(ADDR_W)
      ) ram (
          .clk(clk),
          .write(write),
          .write_addr(write_addr),
          .write_data(padded_in[CHUNK*chunk+:CHUNK]),
          .enable(enable),
          .read_addr(read_addr),
          .read_data(padded_out[CHUNK*chunk+:CHUNK])
      );
    end
  endgenerate

endmodule

`default_nettype wire
