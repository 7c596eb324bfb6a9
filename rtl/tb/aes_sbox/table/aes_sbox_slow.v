// SubBytes of AES for one octet, three cycles later, as the table of FIPS 197. Replaces the library's module.
`default_nettype none

module aes_sbox_slow (
    input  wire       clk,
    input  wire [7:0] octet,
    output reg  [7:0] substitute
);

  wire [7:0] found;
  reg [7:0] found_1, found_2;

  aes_sbox sbox (
      .octet(octet),
      .substitute(found)
  );

  always @(posedge clk) {found_1, found_2, substitute} <= {found, found_1, found_2};

endmodule

`default_nettype wire
