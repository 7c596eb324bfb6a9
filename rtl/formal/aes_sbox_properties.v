// aes_sbox is the table of FIPS 197, Figure 7: the proof shows that `differs` is zero. TABLE comes from rtl/tb/aes.py.
`default_nettype none

module aes_sbox_properties (
    input  wire [7:0] octet,
    output wire       differs
);

  localparam [2047:0] TABLE = `TABLE;

  wire [7:0] substitute;

  aes_sbox sbox (
      .octet(octet),
      .substitute(substitute)
  );

  assign differs = substitute != TABLE[8*octet+:8];

endmodule

`default_nettype wire
