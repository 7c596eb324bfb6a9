// The third part of the S-box: the inversion in GF(2^4).
//
// J. Boyar and R. Peralta, IACR ePrint 2011/332: t25 to t45.
`default_nettype none

module aes_sbox_inverse (
    input  wire [3:0] terms,   // of aes_sbox_terms
    output wire [4:0] inverse  // t45, t40, t37, t33, t29
);

  wire t21 = terms[0], t22 = terms[1], t23 = terms[2], t24 = terms[3];

  wire t25 = t21 ^ t22;
  wire t26 = t21 & t23;
  wire t27 = t24 ^ t26;
  wire t29 = (t25 & t27) ^ t22;
  wire t30 = t23 ^ t24;
  wire t31 = t22 ^ t26;
  wire t33 = (t31 & t30) ^ t24;
  wire t34 = t23 ^ t33;
  wire t35 = t27 ^ t33;
  wire t36 = t24 & t35;
  wire t37 = t36 ^ t34;
  wire t38 = t27 ^ t36;
  wire t40 = t25 ^ (t29 & t38);

  wire t45 = t29 ^ t33 ^ t37 ^ t40;

  assign inverse = {t45, t40, t37, t33, t29};

endmodule

`default_nettype wire
