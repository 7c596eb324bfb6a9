// Linear forms of an octet that the S-box multiplies.
//
// J. Boyar and R. Peralta, "A depth-16 circuit for the AES S-box" (IACR ePrint 2011/332): y1 to y21; some are written as
// other sums than theirs, which are less deep.
`default_nettype none

module aes_sbox_forms (
    input  wire [ 7:0] octet,
    output wire [21:0] forms  // y21 to y1, then the octet's bit 0
);

  wire x0 = octet[7], x1 = octet[6], x2 = octet[5], x3 = octet[4];
  wire x4 = octet[3], x5 = octet[2], x6 = octet[1], x7 = octet[0];

  wire y14 = x3 ^ x5;
  wire y13 = x0 ^ x6;
  wire y9 = x0 ^ x3;
  wire y8 = x0 ^ x5;
  wire t0 = x1 ^ x2;
  wire y1 = t0 ^ x7;
  wire y4 = y1 ^ x3;
  wire y12 = y13 ^ y14;
  wire y2 = y1 ^ x0;
  wire y5 = y1 ^ x6;
  wire y3 = y5 ^ y8;
  wire y15 = (x0 ^ x4) ^ (x3 ^ x6);
  wire y11 = (x1 ^ x6) ^ (x4 ^ x5);
  wire y20 = y15 ^ (x1 ^ x5);
  wire y6 = y15 ^ x7;
  wire y10 = y15 ^ t0;
  wire y7 = x7 ^ y11;
  wire y17 = (x0 ^ x2) ^ y14;
  wire y19 = y11 ^ (x2 ^ x3);
  wire y16 = t0 ^ y11;
  wire y21 = y13 ^ y16;
  wire y18 = x0 ^ y16;

  assign forms = {
    y21, y20, y19, y18, y17, y16, y15, y14, y13, y12, y11, y10, y9, y8, y7, y6, y5, y4, y3, y2, y1, x7
  };

endmodule

`default_nettype wire
