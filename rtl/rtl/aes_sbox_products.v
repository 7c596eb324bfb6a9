// The fourth part of the S-box: eighteen products of the octet's linear forms with the inverse.
//
// J. Boyar and R. Peralta, IACR ePrint 2011/332: z0 to z17. Three sums at the start of t46 to t67 are computed here. Each
// product is one element of four inputs.
`default_nettype none

module aes_sbox_products (
    input  wire [ 9:0] forms,    // of aes_sbox_forms: y10, y8 to y1, then the octet's bit 0
    input  wire [ 4:0] inverse,  // of aes_sbox_inverse
    output wire [17:0] products  // z17 to z0, with t48, t47 and t51 in place of z13, z11 and z5
);

  wire x7 = forms[0], y1 = forms[1], y2 = forms[2], y3 = forms[3], y4 = forms[4], y5 = forms[5];
  wire y6 = forms[6], y7 = forms[7], y8 = forms[8], y10 = forms[9];

  wire y9 = y2 ^ y4;
  wire y11 = y7 ^ x7;
  wire y12 = y3 ^ y4;
  wire y13 = y2 ^ y5;
  wire y14 = y8 ^ y9;
  wire y15 = y6 ^ x7;
  wire y16 = y1 ^ y7;
  wire y17 = y10 ^ y11;

  wire t29 = inverse[0], t33 = inverse[1], t37 = inverse[2], t40 = inverse[3], t45 = inverse[4];
  wire t41 = t40 ^ t37;
  wire t42 = t29 ^ t33;
  wire t43 = t29 ^ t40;
  wire t44 = t33 ^ t37;

  // Sums of two products, which are no larger than one product: z10 + z11, z5 + z13 and z2 + z5.
  wire t47 = (t37 & y3) ^ (t33 & y4);
  wire t48 = (t29 & y7) ^ (t40 & y5);
  wire t51 = (t33 & x7) ^ (t29 & y7);

  assign products = {
    t41 & y8, t45 & y14, t42 & y9, t29 & y2, t48, t43 & y13, t47, t37 & y3, t44 & y12,
    t41 & y10, t45 & y17, t42 & y11, t51, t40 & y1, t43 & y16, t33 & x7, t37 & y6, t44 & y15
  };

endmodule

`default_nettype wire
