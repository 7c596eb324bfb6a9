// The second part of the S-box: the element to invert in GF(2^4), from the octet's linear forms.
//
// J. Boyar and R. Peralta, IACR ePrint 2011/332: t2 to t24. Forms that aes_sbox_forms does not provide are expanded, so
// that no path is longer than two elements of four inputs.
`default_nettype none

module aes_sbox_terms (
    input  wire [11:0] forms,  // of aes_sbox_forms
    output wire [ 3:0] terms   // t24 to t21
);

  wire x7 = forms[0], y1 = forms[1], y2 = forms[2], y3 = forms[3], y4 = forms[4], y5 = forms[5];
  wire y6 = forms[6], y7 = forms[7], y8 = forms[8], y9 = forms[9], y10 = forms[10], y11 = forms[11];

  wire y12 = y3 ^ y4;
  wire y13 = y2 ^ y5;
  wire y14 = y8 ^ y9;
  wire y15 = y6 ^ x7;
  wire y16 = y1 ^ y7;
  wire y17 = y10 ^ y11;
  wire y18 = y2 ^ y7;
  wire y19 = y8 ^ y10;
  wire y20 = y9 ^ y11;
  wire y21 = y13 ^ y16;

  wire t2 = y12 & y15;
  wire t12 = y9 & y11;
  wire t7 = y13 & y16;
  wire t14 = (y14 & y17) ^ t12;
  wire t16 = (y8 & y10) ^ t12;

  wire t21 = (y3 & y6) ^ y20 ^ t2 ^ t14;
  wire t22 = (y4 & x7) ^ y19 ^ t2 ^ t16;
  wire t23 = (y5 & y1) ^ y21 ^ t7 ^ t14;
  wire t24 = (y2 & y7) ^ y18 ^ t7 ^ t16;

  assign terms = {t24, t23, t22, t21};

endmodule

`default_nettype wire
