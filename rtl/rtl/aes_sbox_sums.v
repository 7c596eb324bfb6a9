// The fifth part of the S-box: sums of four products that several output bits share.
//
// Found by search: with these five sums each bit of aes_sbox_back is one element of four inputs. With t46 to t67 of
// J. Boyar and R. Peralta, IACR ePrint 2011/332, some bits would require more.
`default_nettype none

module aes_sbox_sums (
    input  wire [17:0] products,  // of aes_sbox_products
    output wire [ 4:0] sums
);

  wire z0 = products[0], z2 = products[2], z3 = products[3], z4 = products[4], z6 = products[6], z7 = products[7];
  wire z8 = products[8], z9 = products[9], z10 = products[10], z12 = products[12], z14 = products[14];
  wire z15 = products[15], z16 = products[16];
  wire [4:0] products_unused = {products[17], products[13], products[11], products[5], products[1]};

  assign sums = {
    z0 ^ z2 ^ z3 ^ z14, z0 ^ z2 ^ z3 ^ z16, z4 ^ z6 ^ z7 ^ z16, z4 ^ z9 ^ z10 ^ z15, z6 ^ z8 ^ z12 ^ z15
  };

endmodule

`default_nettype wire
