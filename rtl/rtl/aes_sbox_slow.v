// SubBytes of AES on one octet with three registers inside, for an octet a cycle.
//
// Up to the products the octet itself is kept, not its linear forms: computing them again takes fewer elements than
// keeping them takes registers. Each part is mapped by itself (keep_hierarchy), because tools make logic as deep as the
// deepest of a module allows if that saves an element, and here every level of logic costs the clock rate.
`default_nettype none

module aes_sbox_slow (
    input  wire       clk,
    input  wire [7:0] octet,
    output wire [7:0] substitute  // of the octet three cycles before
);

  wire [ 7:0] terms;
  reg  [ 7:0] terms_1;
  reg  [ 7:0] octet_1;
  wire [ 3:0] inverse;
  reg  [ 3:0] inverse_2;
  reg  [ 7:0] octet_2;
  wire [17:0] products;
  reg  [17:0] products_3;

  (* keep_hierarchy *)
  aes_sbox_terms first (
      .octet(octet),
      .terms(terms)
  );

  (* keep_hierarchy *)
  aes_sbox_inverse second (
      .terms(terms_1),
      .inverse(inverse)
  );

  (* keep_hierarchy *)
  aes_sbox_products third (
      .octet(octet_2),
      .inverse(inverse_2),
      .products(products)
  );

  (* keep_hierarchy *)
  aes_sbox_back last (
      .products(products_3),
      .octet(substitute)
  );

  always @(posedge clk) begin
    terms_1 <= terms;
    octet_1 <= octet;
    inverse_2 <= inverse;
    octet_2 <= octet_1;
    products_3 <= products;
  end

endmodule

`default_nettype wire
