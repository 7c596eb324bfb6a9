// The last part of the S-box: the output octet, including the affine transformation and its constant 0x63.
//
// J. Boyar and R. Peralta, IACR ePrint 2011/332: s0 to s7, with different partial sums (see aes_sbox_sums).
`default_nettype none

module aes_sbox_back (
    input  wire [17:0] products,  // of aes_sbox_products
    input  wire [ 4:0] sums,      // of aes_sbox_sums
    output wire [ 7:0] octet
);

  wire z0 = products[0], z1 = products[1], z2 = products[2], z3 = products[3], z4 = products[4];
  wire t51 = products[5], t47 = products[11], t48 = products[13];
  wire z12 = products[12], z15 = products[15], z16 = products[16], z17 = products[17];
  wire [5:0] products_unused = {products[14], products[10:6]};

  wire a = sums[0], b = sums[1], c = sums[2], d = sums[3], e = sums[4];

  wire s0 = b ^ c ^ z3 ^ z4;
  wire s1 = ~(b ^ c ^ z0 ^ z1);
  wire s2 = ~(a ^ e ^ z3 ^ z17);
  wire s3 = b ^ d ^ z1 ^ z2;
  wire s4 = b ^ z1 ^ z16 ^ t51;
  wire s5 = a ^ c ^ e ^ t47;
  wire s6 = ~(a ^ c ^ t48);
  wire s7 = ~(d ^ z12 ^ z15 ^ t48);

  assign octet = {s0, s1, s2, s3, s4, s5, s6, s7};

endmodule

`default_nettype wire
