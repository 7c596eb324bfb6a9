// MixColumns of AES (FIPS 197, 5.1.3) on one column.
//
// Octet 0 of the column, the first on the air, is in bits 7 to 0.
`default_nettype none

module aes_mix_columns (
    input  wire [31:0] column,
    output wire [31:0] mixed
);

  function automatic [7:0] xtime(input [7:0] octet);
    xtime = {octet[6:0], 1'b0} ^ (octet[7] ? 8'h1b : 8'h00);
  endfunction

  wire [7:0] a0 = column[7:0], a1 = column[15:8], a2 = column[23:16], a3 = column[31:24];

  assign mixed[7:0]   = xtime(a0 ^ a1) ^ a1 ^ a2 ^ a3;
  assign mixed[15:8]  = xtime(a1 ^ a2) ^ a2 ^ a3 ^ a0;
  assign mixed[23:16] = xtime(a2 ^ a3) ^ a3 ^ a0 ^ a1;
  assign mixed[31:24] = xtime(a3 ^ a0) ^ a0 ^ a1 ^ a2;

endmodule

`default_nettype wire
