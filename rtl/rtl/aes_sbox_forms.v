// The first part of the S-box: linear forms of an octet. All other factors are sums of up to three of these forms.
//
// J. Boyar and R. Peralta, "A depth-16 circuit for the AES S-box" (IACR ePrint 2011/332): y1 to y11, some computed by
// different sums, so that no path is longer than two elements of four inputs.
`default_nettype none

module aes_sbox_forms (
    input  wire [ 7:0] octet,
    output wire [11:0] forms  // y11 to y1, then the octet's bit 0
);

  wire x0 = octet[7], x1 = octet[6], x2 = octet[5], x3 = octet[4];
  wire x4 = octet[3], x5 = octet[2], x6 = octet[1], x7 = octet[0];

  wire y1 = x1 ^ x2 ^ x7;
  wire y2 = y1 ^ x0;
  wire y4 = y1 ^ x3;
  wire y5 = y1 ^ x6;
  wire y8 = x0 ^ x5;
  wire y9 = x0 ^ x3;
  wire y11 = x1 ^ x4 ^ x5 ^ x6;
  wire y3 = y5 ^ y8;
  wire y6 = y9 ^ x4 ^ x6 ^ x7;
  wire y7 = y11 ^ x7;
  wire y10 = y9 ^ x1 ^ x2 ^ x4 ^ x6;

  assign forms = {y11, y10, y9, y8, y7, y6, y5, y4, y3, y2, y1, x7};

endmodule

`default_nettype wire
