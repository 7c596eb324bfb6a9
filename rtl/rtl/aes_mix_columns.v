// MixColumns of AES (FIPS 197, 5.1.3).
//
// A block is 16 octets in the order of transmission, octet k in bits 8k+7 to 8k. Octets 4k to 4k + 3 are column k.
`default_nettype none

module aes_mix_columns (
    input  wire [127:0] block,
    output wire [127:0] mixed
);

  function automatic [7:0] xtime(input [7:0] octet);
    xtime = {octet[6:0], 1'b0} ^ (octet[7] ? 8'h1b : 8'h00);
  endfunction

  genvar column;
  generate
    for (column = 0; column < 4; column = column + 1) begin : g_column
      wire [7:0] a0, a1, a2, a3;
      assign {a3, a2, a1, a0} = block[32*column+:32];
      assign mixed[32*column+:32] = {
        xtime(a3 ^ a0) ^ a0 ^ a1 ^ a2,
        xtime(a2 ^ a3) ^ a3 ^ a0 ^ a1,
        xtime(a1 ^ a2) ^ a2 ^ a3 ^ a0,
        xtime(a0 ^ a1) ^ a1 ^ a2 ^ a3
      };
    end
  endgenerate

endmodule

`default_nettype wire
