// SubBytes of AES on one octet (FIPS 197, 5.1.1), in composite-field logic without a table.
`default_nettype none

module aes_sbox (
    input  wire [7:0] octet,
    output wire [7:0] substitute
);

  wire [11:0] forms;
  wire [ 3:0] terms;
  wire [ 4:0] inverse;
  wire [17:0] products;
  wire [ 4:0] sums;

  aes_sbox_forms first (
      .octet(octet),
      .forms(forms)
  );

  aes_sbox_terms second (
      .forms(forms),
      .terms(terms)
  );

  aes_sbox_inverse third (
      .terms(terms),
      .inverse(inverse)
  );

  aes_sbox_products fourth (
      .forms({forms[10], forms[8:0]}),
      .inverse(inverse),
      .products(products)
  );

  aes_sbox_sums fifth (
      .products(products),
      .sums(sums)
  );

  aes_sbox_back last (
      .products(products),
      .sums(sums),
      .octet(substitute)
  );

endmodule

`default_nettype wire
