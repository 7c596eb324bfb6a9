// The last part of the S-box: its octet from the eighteen products, affine part and constant 0x63 included.
//
// J. Boyar and R. Peralta, IACR ePrint 2011/332: t46 to t67, s0 to s7; written as sums of sums of at most four, two deep.
`default_nettype none

module aes_sbox_back (
    input  wire [17:0] products,  // of aes_sbox_products
    output wire [ 7:0] octet
);

  wire z0 = products[0], z1 = products[1], z2 = products[2], z3 = products[3], z4 = products[4];
  wire t51 = products[5];
  wire z6 = products[6], z7 = products[7], z8 = products[8], z9 = products[9], z10 = products[10];
  wire t47 = products[11];
  wire z12 = products[12];
  wire t48 = products[13];
  wire z14 = products[14], z15 = products[15], z16 = products[16], z17 = products[17];

  // Sums that several outputs have in common; each of them, and each output, is one element of four inputs,
  // which tools that think they know better are kept from.
  (* keep *) wire a, b, c, d, e, f, g, h;
  assign a = z4 ^ z15 ^ z16;
  assign b = z3 ^ z6 ^ z7;
  assign c = z1 ^ z9 ^ z10;
  assign d = z6 ^ z7 ^ z15 ^ z16;
  assign e = z7 ^ z8;
  assign f = z0 ^ z2 ^ z3 ^ z12;
  assign g = z7 ^ z8 ^ z14 ^ t47;
  assign h = z6 ^ z8 ^ z14 ^ z17;

  wire s0 = a ^ b ^ z9 ^ z10;
  wire s1 = ~(c ^ d ^ z0);
  wire s2 = ~(f ^ h ^ z3 ^ z15);
  wire s3 = a ^ c ^ z0 ^ z3;
  wire s4 = a ^ c ^ t51;
  wire s5 = a ^ f ^ g;
  wire s6 = ~(a ^ e ^ z12 ^ t48);
  wire s7 = ~(f ^ z15 ^ z16 ^ t48);

  assign octet = {s0, s1, s2, s3, s4, s5, s6, s7};

endmodule

`default_nettype wire
