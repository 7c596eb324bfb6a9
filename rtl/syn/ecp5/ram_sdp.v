// ram_sdp for Lattice ECP5: block RAM with its own output register, which memory inference does not use.
//
// Read data is available 5.6 ns after the clock without the register, and less than 1 ns with it. A block is 36 bits wide
// up to 512 words (PDPW16KD, whose output has the halves of the input swapped), and narrower for deeper memories.
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
  localparam CHUNKS = (WIDTH + CHUNK - 1) / CHUNK;

  wire [CHUNKS*CHUNK-1:0] padded_in = write_data;
  wire [CHUNKS*CHUNK-1:0] padded_out;
  assign read_data = padded_out[WIDTH-1:0];

  wire [13:0] read_at = read_addr;
  wire [13:0] write_at = write_addr;

  genvar chunk;
  generate
    for (chunk = 0; chunk < CHUNKS; chunk = chunk + 1) begin : g_chunk
      if (CHUNK == 36) begin : g_wide
        wire [35:0] in_chunk = padded_in[36*chunk+:36];
        wire [35:0] out_chunk;
        assign padded_out[36*chunk+:36] = out_chunk;
        wire [8:0] at_write = write_at[8:0];
        wire [13:0] at_read = {read_at[8:0], 5'd0};

        PDPW16KD #(
            .DATA_WIDTH_W(36),
            .DATA_WIDTH_R(36),
            .REGMODE("OUTREG"),
            .GSR("DISABLED")
        ) ram (
            .CLKW(clk),
            .CEW(write),
            .CSW0(1'b0), .CSW1(1'b0), .CSW2(1'b0),
            .BE0(1'b1), .BE1(1'b1), .BE2(1'b1), .BE3(1'b1),
            .ADW0(at_write[0]), .ADW1(at_write[1]), .ADW2(at_write[2]), .ADW3(at_write[3]),
            .ADW4(at_write[4]), .ADW5(at_write[5]), .ADW6(at_write[6]), .ADW7(at_write[7]),
            .ADW8(at_write[8]),
            .DI0(in_chunk[0]), .DI1(in_chunk[1]), .DI2(in_chunk[2]), .DI3(in_chunk[3]), .DI4(in_chunk[4]),
            .DI5(in_chunk[5]), .DI6(in_chunk[6]), .DI7(in_chunk[7]), .DI8(in_chunk[8]), .DI9(in_chunk[9]),
            .DI10(in_chunk[10]), .DI11(in_chunk[11]), .DI12(in_chunk[12]), .DI13(in_chunk[13]),
            .DI14(in_chunk[14]), .DI15(in_chunk[15]), .DI16(in_chunk[16]), .DI17(in_chunk[17]),
            .DI18(in_chunk[18]), .DI19(in_chunk[19]), .DI20(in_chunk[20]), .DI21(in_chunk[21]),
            .DI22(in_chunk[22]), .DI23(in_chunk[23]), .DI24(in_chunk[24]), .DI25(in_chunk[25]),
            .DI26(in_chunk[26]), .DI27(in_chunk[27]), .DI28(in_chunk[28]), .DI29(in_chunk[29]),
            .DI30(in_chunk[30]), .DI31(in_chunk[31]), .DI32(in_chunk[32]), .DI33(in_chunk[33]),
            .DI34(in_chunk[34]), .DI35(in_chunk[35]),
            .CLKR(clk),
            .CER(enable),
            .OCER(enable),
            .CSR0(1'b0), .CSR1(1'b0), .CSR2(1'b0),
            .RST(1'b0),
            .ADR0(at_read[0]), .ADR1(at_read[1]), .ADR2(at_read[2]), .ADR3(at_read[3]), .ADR4(at_read[4]),
            .ADR5(at_read[5]), .ADR6(at_read[6]), .ADR7(at_read[7]), .ADR8(at_read[8]), .ADR9(at_read[9]),
            .ADR10(at_read[10]), .ADR11(at_read[11]), .ADR12(at_read[12]), .ADR13(at_read[13]),
            .DO0(out_chunk[18]), .DO1(out_chunk[19]), .DO2(out_chunk[20]), .DO3(out_chunk[21]),
            .DO4(out_chunk[22]), .DO5(out_chunk[23]), .DO6(out_chunk[24]), .DO7(out_chunk[25]),
            .DO8(out_chunk[26]), .DO9(out_chunk[27]), .DO10(out_chunk[28]), .DO11(out_chunk[29]),
            .DO12(out_chunk[30]), .DO13(out_chunk[31]), .DO14(out_chunk[32]), .DO15(out_chunk[33]),
            .DO16(out_chunk[34]), .DO17(out_chunk[35]), .DO18(out_chunk[0]), .DO19(out_chunk[1]),
            .DO20(out_chunk[2]), .DO21(out_chunk[3]), .DO22(out_chunk[4]), .DO23(out_chunk[5]),
            .DO24(out_chunk[6]), .DO25(out_chunk[7]), .DO26(out_chunk[8]), .DO27(out_chunk[9]),
            .DO28(out_chunk[10]), .DO29(out_chunk[11]), .DO30(out_chunk[12]), .DO31(out_chunk[13]),
            .DO32(out_chunk[14]), .DO33(out_chunk[15]), .DO34(out_chunk[16]), .DO35(out_chunk[17])
        );
      end else begin : g_deep
        wire [17:0] in_chunk = padded_in[CHUNK*chunk+:CHUNK];
        wire [17:0] out_chunk;
        assign padded_out[CHUNK*chunk+:CHUNK] = out_chunk[CHUNK-1:0];
        // With 18 bits, the two lowest address bits are the write enables of the octets.
        wire [13:0] at_write = (write_at << LOW_BITS) | (CHUNK == 18 ? 14'd3 : 14'd0);
        wire [13:0] at_read = read_at << LOW_BITS;

        DP16KD #(
            .DATA_WIDTH_A(CHUNK),
            .DATA_WIDTH_B(CHUNK),
            .REGMODE_A("NOREG"),
            .REGMODE_B("OUTREG"),
            .GSR("DISABLED")
        ) ram (
            .CLKA(clk),
            .CEA(write), .WEA(1'b1), .OCEA(1'b0), .RSTA(1'b0),
            .CSA0(1'b0), .CSA1(1'b0), .CSA2(1'b0),
            .ADA0(at_write[0]), .ADA1(at_write[1]), .ADA2(at_write[2]), .ADA3(at_write[3]),
            .ADA4(at_write[4]), .ADA5(at_write[5]), .ADA6(at_write[6]), .ADA7(at_write[7]),
            .ADA8(at_write[8]), .ADA9(at_write[9]), .ADA10(at_write[10]), .ADA11(at_write[11]),
            .ADA12(at_write[12]), .ADA13(at_write[13]),
            .DIA0(in_chunk[0]), .DIA1(in_chunk[1]), .DIA2(in_chunk[2]), .DIA3(in_chunk[3]),
            .DIA4(in_chunk[4]), .DIA5(in_chunk[5]), .DIA6(in_chunk[6]), .DIA7(in_chunk[7]),
            .DIA8(in_chunk[8]), .DIA9(in_chunk[9]), .DIA10(in_chunk[10]), .DIA11(in_chunk[11]),
            .DIA12(in_chunk[12]), .DIA13(in_chunk[13]), .DIA14(in_chunk[14]), .DIA15(in_chunk[15]),
            .DIA16(in_chunk[16]), .DIA17(in_chunk[17]),
            .CLKB(clk),
            .CEB(enable), .WEB(1'b0), .OCEB(enable), .RSTB(1'b0),
            .CSB0(1'b0), .CSB1(1'b0), .CSB2(1'b0),
            .ADB0(at_read[0]), .ADB1(at_read[1]), .ADB2(at_read[2]), .ADB3(at_read[3]), .ADB4(at_read[4]),
            .ADB5(at_read[5]), .ADB6(at_read[6]), .ADB7(at_read[7]), .ADB8(at_read[8]), .ADB9(at_read[9]),
            .ADB10(at_read[10]), .ADB11(at_read[11]), .ADB12(at_read[12]), .ADB13(at_read[13]),
            .DOB0(out_chunk[0]), .DOB1(out_chunk[1]), .DOB2(out_chunk[2]), .DOB3(out_chunk[3]),
            .DOB4(out_chunk[4]), .DOB5(out_chunk[5]), .DOB6(out_chunk[6]), .DOB7(out_chunk[7]),
            .DOB8(out_chunk[8]), .DOB9(out_chunk[9]), .DOB10(out_chunk[10]), .DOB11(out_chunk[11]),
            .DOB12(out_chunk[12]), .DOB13(out_chunk[13]), .DOB14(out_chunk[14]), .DOB15(out_chunk[15]),
            .DOB16(out_chunk[16]), .DOB17(out_chunk[17])
        );
      end
    end
  endgenerate

endmodule

`default_nettype wire
