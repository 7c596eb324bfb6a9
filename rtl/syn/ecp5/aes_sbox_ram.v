// aes_sbox_ram for Lattice ECP5: block RAM with its own output registers, which memory inference does not use.
//
// Read data is available 5.6 ns after the clock without the registers, and less than 1 ns with them. Words have nine bits,
// and the lowest three bits of an address are unused.
`default_nettype none

module aes_sbox_ram (
    input  wire        clk,
    input  wire [15:0] octets,
    output reg  [15:0] substitutes
);

  `include "aes_sbox_table.vh"

  // An INITVAL has 32 words, with 20 bits per two words.
  function [319:0] contents(input integer line);
    integer word;
    begin
      contents = 320'd0;
      for (word = 0; word < 32; word = word + 1)
        contents[20*(word/2)+9*(word%2)+:8] = SUBSTITUTES[8*(255-32*line-word)+:8];
    end
  endfunction

  wire [15:0] read;

  DP16KD #(
      .DATA_WIDTH_A(9),
      .DATA_WIDTH_B(9),
      .REGMODE_A("OUTREG"),
      .REGMODE_B("OUTREG"),
      .INITVAL_00(contents(0)), .INITVAL_01(contents(1)), .INITVAL_02(contents(2)), .INITVAL_03(contents(3)),
      .INITVAL_04(contents(4)), .INITVAL_05(contents(5)), .INITVAL_06(contents(6)), .INITVAL_07(contents(7)),
      .GSR("DISABLED")
  ) ram (
      .CLKA(clk), .CEA(1'b1), .OCEA(1'b1), .WEA(1'b0), .RSTA(1'b0), .CSA0(1'b0), .CSA1(1'b0), .CSA2(1'b0),
      .ADA0(1'b0), .ADA1(1'b0), .ADA2(1'b0), .ADA3(octets[0]), .ADA4(octets[1]), .ADA5(octets[2]), .ADA6(octets[3]),
      .ADA7(octets[4]), .ADA8(octets[5]), .ADA9(octets[6]), .ADA10(octets[7]), .ADA11(1'b0), .ADA12(1'b0),
      .ADA13(1'b0),
      .DIA0(1'b0), .DIA1(1'b0), .DIA2(1'b0), .DIA3(1'b0), .DIA4(1'b0), .DIA5(1'b0), .DIA6(1'b0), .DIA7(1'b0),
      .DIA8(1'b0), .DIA9(1'b0), .DIA10(1'b0), .DIA11(1'b0), .DIA12(1'b0), .DIA13(1'b0), .DIA14(1'b0), .DIA15(1'b0),
      .DIA16(1'b0), .DIA17(1'b0),
      .DOA0(read[0]), .DOA1(read[1]), .DOA2(read[2]), .DOA3(read[3]), .DOA4(read[4]), .DOA5(read[5]), .DOA6(read[6]),
      .DOA7(read[7]),
      .CLKB(clk), .CEB(1'b1), .OCEB(1'b1), .WEB(1'b0), .RSTB(1'b0), .CSB0(1'b0), .CSB1(1'b0), .CSB2(1'b0),
      .ADB0(1'b0), .ADB1(1'b0), .ADB2(1'b0), .ADB3(octets[8]), .ADB4(octets[9]), .ADB5(octets[10]),
      .ADB6(octets[11]), .ADB7(octets[12]), .ADB8(octets[13]), .ADB9(octets[14]), .ADB10(octets[15]), .ADB11(1'b0),
      .ADB12(1'b0), .ADB13(1'b0),
      .DIB0(1'b0), .DIB1(1'b0), .DIB2(1'b0), .DIB3(1'b0), .DIB4(1'b0), .DIB5(1'b0), .DIB6(1'b0), .DIB7(1'b0),
      .DIB8(1'b0), .DIB9(1'b0), .DIB10(1'b0), .DIB11(1'b0), .DIB12(1'b0), .DIB13(1'b0), .DIB14(1'b0), .DIB15(1'b0),
      .DIB16(1'b0), .DIB17(1'b0),
      .DOB0(read[8]), .DOB1(read[9]), .DOB2(read[10]), .DOB3(read[11]), .DOB4(read[12]), .DOB5(read[13]),
      .DOB6(read[14]), .DOB7(read[15])
  );

  always @(posedge clk) substitutes <= read;

endmodule

`default_nettype wire
