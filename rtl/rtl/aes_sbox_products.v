// The third part of the S-box: eighteen products of the octet's linear forms with the inverse.
//
// J. Boyar and R. Peralta, IACR ePrint 2011/332: t41 to t45, z0 to z17. Three sums that t46 to t67 begin with are made
// here, so that no path of the last part is longer than two elements of four inputs.
`default_nettype none

module aes_sbox_products (
    input  wire [ 7:0] octet,
    input  wire [ 3:0] inverse,  // of aes_sbox_inverse
    output wire [17:0] products  // z17 to z0, with t48, t47 and t51 in place of z13, z11 and z5
);

  wire [21:0] forms;

  aes_sbox_forms linear (
      .octet(octet),
      .forms(forms)
  );

  wire y1 = forms[1], y2 = forms[2], y3 = forms[3], y4 = forms[4], y5 = forms[5], y6 = forms[6];
  wire y7 = forms[7], y8 = forms[8], y9 = forms[9], y10 = forms[10], y11 = forms[11], y12 = forms[12];
  wire y13 = forms[13], y14 = forms[14], y15 = forms[15], y16 = forms[16], y17 = forms[17];
  wire x7 = forms[0];
  wire [3:0] forms_unused = forms[21:18];

  wire t29 = inverse[0], t33 = inverse[1], t37 = inverse[2], t40 = inverse[3];
  wire t41 = t40 ^ t37;
  wire t42 = t29 ^ t33;
  wire t43 = t29 ^ t40;
  wire t44 = t33 ^ t37;
  wire t45 = t42 ^ t41;

  // Sums of two that take no more than one of them: z10 + z11, z5 + z13 and z2 + z5.
  wire t47 = (t37 & y3) ^ (t33 & y4);
  wire t48 = (t29 & y7) ^ (t40 & y5);
  wire t51 = (t33 & x7) ^ (t29 & y7);

  assign products = {
    t41 & y8, t45 & y14, t42 & y9, t29 & y2, t48, t43 & y13, t47, t37 & y3, t44 & y12,
    t41 & y10, t45 & y17, t42 & y11, t51, t40 & y1, t43 & y16, t33 & x7, t37 & y6, t44 & y15
  };

endmodule

`default_nettype wire
