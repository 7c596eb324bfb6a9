// SubBytes of AES for one octet per cycle, with three stages of registers.
//
// The registers are where the circuit is narrow. Ten of the octet's linear forms are kept until the products, two more
// than the octet has bits, so that no product requires a further element for its form. Each part is mapped separately
// (keep_hierarchy): across parts, tools would lengthen paths up to the longest path of the module to save an element.
`default_nettype none

module aes_sbox_slow (
    input  wire       clk,
    input  wire [7:0] octet,
    output wire [7:0] substitute  // of the octet three cycles before
);

  wire [11:0] forms;
  reg  [11:0] forms_1;
  reg  [ 9:0] forms_2;
  wire [ 3:0] terms;
  reg  [ 3:0] terms_2;
  wire [ 4:0] inverse;
  wire [17:0] products;
  reg  [17:0] products_3;
  wire [ 4:0] sums;

  (* keep_hierarchy *)
  aes_sbox_forms first (
      .octet(octet),
      .forms(forms)
  );

  (* keep_hierarchy *)
  aes_sbox_terms second (
      .forms(forms_1),
      .terms(terms)
  );

  (* keep_hierarchy *)
  aes_sbox_inverse third (
      .terms(terms_2),
      .inverse(inverse)
  );

  (* keep_hierarchy *)
  aes_sbox_products fourth (
      .forms(forms_2),
      .inverse(inverse),
      .products(products)
  );

  (* keep_hierarchy *)
  aes_sbox_sums fifth (
      .products(products_3),
      .sums(sums)
  );

  (* keep_hierarchy *)
  aes_sbox_back last (
      .products(products_3),
      .sums(sums),
      .octet(substitute)
  );

  always @(posedge clk) begin
    forms_1 <= forms;
    terms_2 <= terms;
    forms_2 <= {forms_1[10], forms_1[8:0]};
    products_3 <= products;
  end

endmodule

`default_nettype wire
