// ShiftRows of AES (FIPS 197, 5.1.2). Wires only.
//
// A block is 16 octets in the order of transmission, octet k in bits 8k+7 to 8k. Octet k is row k mod 4 of column k / 4.
`default_nettype none

module aes_shift_rows (
    input  wire [127:0] block,
    output wire [127:0] shifted
);

  genvar row, column;
  generate
    for (row = 0; row < 4; row = row + 1) begin : g_row
      for (column = 0; column < 4; column = column + 1) begin : g_column
        assign shifted[8*(row+4*column)+:8] = block[8*(row+4*((column+row)%4))+:8];
      end
    end
  endgenerate

endmodule

`default_nettype wire
