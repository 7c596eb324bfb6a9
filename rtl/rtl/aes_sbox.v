// SubBytes of AES on one octet (FIPS 197, 5.1.1), in composite-field logic without a table.
`default_nettype none

module aes_sbox (
    input  wire [7:0] octet,
    output wire [7:0] substitute
);

  wire [ 7:0] terms;
  wire [ 3:0] inverse;
  wire [17:0] products;

  aes_sbox_terms first (
      .octet(octet),
      .terms(terms)
  );

  aes_sbox_inverse second (
      .terms(terms),
      .inverse(inverse)
  );

  aes_sbox_products third (
      .octet(octet),
      .inverse(inverse),
      .products(products)
  );

  aes_sbox_back last (
      .products(products),
      .octet(substitute)
  );

endmodule

`default_nettype wire
