// Lattice ECP5: block RAM of 18 kbit with two ports. Only the functions that rtl/syn/ecp5 uses: port A writes and port B
// reads, or both ports read the initial content.
//
// An address has 14 bits for words of one bit. Wider words leave the lowest address bits unused: 1 for 2 bits, 2 for 4, 3
// for 9 and 4 for 18. With 18 bits the two lowest bits are the write enables of the octets (Lattice, FPGA-TN-02204, ECP5
// memory user guide). REGMODE "OUTREG" adds a second register after the memory's. An INITVAL has 16 words of 18 bits, or
// 32 words of 9 bits, with 20 bits per two words.
`default_nettype none

module DP16KD #(
    parameter DATA_WIDTH_A = 18,
    parameter DATA_WIDTH_B = 18,
    parameter REGMODE_A = "NOREG",
    parameter REGMODE_B = "NOREG",
    parameter [319:0] INITVAL_00 = 320'd0,
    parameter [319:0] INITVAL_01 = 320'd0,
    parameter [319:0] INITVAL_02 = 320'd0,
    parameter [319:0] INITVAL_03 = 320'd0,
    parameter [319:0] INITVAL_04 = 320'd0,
    parameter [319:0] INITVAL_05 = 320'd0,
    parameter [319:0] INITVAL_06 = 320'd0,
    parameter [319:0] INITVAL_07 = 320'd0,
    parameter GSR = "ENABLED"
) (
    input wire CLKA, CEA, OCEA, WEA, RSTA, CSA2, CSA1, CSA0,
    input wire ADA13, ADA12, ADA11, ADA10, ADA9, ADA8, ADA7, ADA6, ADA5, ADA4, ADA3, ADA2, ADA1, ADA0,
    input wire DIA17, DIA16, DIA15, DIA14, DIA13, DIA12, DIA11, DIA10, DIA9, DIA8, DIA7, DIA6, DIA5, DIA4, DIA3,
       DIA2, DIA1, DIA0,
    output wire DOA17, DOA16, DOA15, DOA14, DOA13, DOA12, DOA11, DOA10, DOA9, DOA8, DOA7, DOA6, DOA5, DOA4, DOA3,
       DOA2, DOA1, DOA0,
    input wire CLKB, CEB, OCEB, WEB, RSTB, CSB2, CSB1, CSB0,
    input wire ADB13, ADB12, ADB11, ADB10, ADB9, ADB8, ADB7, ADB6, ADB5, ADB4, ADB3, ADB2, ADB1, ADB0,
    input wire DIB17, DIB16, DIB15, DIB14, DIB13, DIB12, DIB11, DIB10, DIB9, DIB8, DIB7, DIB6, DIB5, DIB4, DIB3,
       DIB2, DIB1, DIB0,
    output wire DOB17, DOB16, DOB15, DOB14, DOB13, DOB12, DOB11, DOB10, DOB9, DOB8, DOB7, DOB6, DOB5, DOB4, DOB3,
       DOB2, DOB1, DOB0
);

  localparam WIDTH = DATA_WIDTH_A;
  localparam UNUSED = WIDTH == 18 ? 4 : WIDTH == 9 ? 3 : WIDTH == 4 ? 2 : WIDTH == 2 ? 1 : 0;
  localparam OCTET = WIDTH == 18 ? 9 : WIDTH;  // bits with one write enable
  localparam OCTETS = WIDTH / OCTET;

  initial
    if (DATA_WIDTH_A != DATA_WIDTH_B) begin
      $display("DP16KD: %0d bits in, %0d out: no model", DATA_WIDTH_A, DATA_WIDTH_B);
      $finish;
    end

  wire [13:0] write_at = {ADA13, ADA12, ADA11, ADA10, ADA9, ADA8, ADA7, ADA6, ADA5, ADA4, ADA3, ADA2, ADA1, ADA0};
  wire [13:0] read_at = {ADB13, ADB12, ADB11, ADB10, ADB9, ADB8, ADB7, ADB6, ADB5, ADB4, ADB3, ADB2, ADB1, ADB0};
  wire [17:0] in = {
    DIA17, DIA16, DIA15, DIA14, DIA13, DIA12, DIA11, DIA10, DIA9, DIA8, DIA7, DIA6, DIA5, DIA4, DIA3, DIA2, DIA1,
      DIA0
  };

  reg [WIDTH-1:0] memory[0:(1<<(14-UNUSED))-1];
  reg [WIDTH-1:0] word, held, word_a, held_a;
  integer octet, at;

  localparam [8*320-1:0] INITIAL = {
    INITVAL_07, INITVAL_06, INITVAL_05, INITVAL_04, INITVAL_03, INITVAL_02, INITVAL_01, INITVAL_00
  };
  initial if (WIDTH == 9) for (at = 0; at < 256; at = at + 1) memory[at] = INITIAL[20*(at/2)+9*(at%2)+:9];

  always @(posedge CLKA)
    if (CEA && WEA && {CSA2, CSA1, CSA0} == 3'd0)
      for (octet = 0; octet < OCTETS; octet = octet + 1)
        if (WIDTH != 18 || write_at[octet]) memory[write_at[13:UNUSED]][OCTET*octet+:OCTET] <= in[OCTET*octet+:OCTET];

  always @(posedge CLKA) begin
    if (CEA && !WEA && {CSA2, CSA1, CSA0} == 3'd0) word_a <= memory[write_at[13:UNUSED]];
    if (OCEA) held_a <= word_a;
    if (RSTA) begin
      word_a <= {WIDTH{1'b0}};
      held_a <= {WIDTH{1'b0}};
    end
  end

  always @(posedge CLKB) begin
    if (CEB && !WEB && {CSB2, CSB1, CSB0} == 3'd0) word <= memory[read_at[13:UNUSED]];
    if (OCEB) held <= word;
    if (RSTB) begin
      word <= {WIDTH{1'b0}};
      held <= {WIDTH{1'b0}};
    end
  end

  wire [17:0] out_a = REGMODE_A == "OUTREG" ? held_a : word_a;
  wire [17:0] out = REGMODE_B == "OUTREG" ? held : word;
  assign {
    DOB17, DOB16, DOB15, DOB14, DOB13, DOB12, DOB11, DOB10, DOB9, DOB8, DOB7, DOB6, DOB5, DOB4, DOB3, DOB2, DOB1,
      DOB0
  } = out;
  assign {
    DOA17, DOA16, DOA15, DOA14, DOA13, DOA12, DOA11, DOA10, DOA9, DOA8, DOA7, DOA6, DOA5, DOA4, DOA3, DOA2, DOA1,
      DOA0
  } = out_a;

endmodule

`default_nettype wire
