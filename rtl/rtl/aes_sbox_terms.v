// The first part of the S-box: eight terms of an octet, of which aes_sbox_inverse makes the inverse in GF(2^4).
//
// J. Boyar and R. Peralta, IACR ePrint 2011/332: t2 to t16, with the forms y18 to y21 added that t21 to t24 take. So
// divided, no path here is longer than three elements of four inputs.
`default_nettype none

module aes_sbox_terms (
    input  wire [7:0] octet,
    output wire [7:0] terms
);

  wire [21:0] forms;

  aes_sbox_forms linear (
      .octet(octet),
      .forms(forms)
  );

  wire y1 = forms[1], y2 = forms[2], y3 = forms[3], y4 = forms[4], y5 = forms[5], y6 = forms[6];
  wire y7 = forms[7], y8 = forms[8], y9 = forms[9], y10 = forms[10], y11 = forms[11], y12 = forms[12];
  wire y13 = forms[13], y14 = forms[14], y15 = forms[15], y16 = forms[16], y17 = forms[17], y18 = forms[18];
  wire y19 = forms[19], y20 = forms[20], y21 = forms[21];
  wire x7 = forms[0];

  wire t12 = y9 & y11;

  assign terms = {
    y12 & y15, y13 & y16, (y14 & y17) ^ t12, (y8 & y10) ^ t12,
    (y3 & y6) ^ y20, (y4 & x7) ^ y19, (y5 & y1) ^ y21, (y2 & y7) ^ y18
  };

endmodule

`default_nettype wire
