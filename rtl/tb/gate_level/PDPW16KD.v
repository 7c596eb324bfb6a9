// Lattice ECP5: block RAM of 512 words of 36 bits, with one write port and one read port. Only the functions that
// rtl/syn/ecp5 uses.
//
// A word has four octets of nine bits, each with its own write enable (BE). The read address has nine bits above five
// unused bits. The upper half of the output is DO0 to DO17, the lower half DO18 to DO35 (Lattice, FPGA-TN-02204, ECP5
// memory user guide). REGMODE "OUTREG" adds a second register after the memory's.
`default_nettype none

module PDPW16KD #(
    parameter DATA_WIDTH_W = 36,
    parameter DATA_WIDTH_R = 36,
    parameter REGMODE = "NOREG",
    parameter GSR = "ENABLED"
) (
    input wire CLKW, CEW, CSW2, CSW1, CSW0, BE3, BE2, BE1, BE0,
    input wire ADW8, ADW7, ADW6, ADW5, ADW4, ADW3, ADW2, ADW1, ADW0,
    input wire DI35, DI34, DI33, DI32, DI31, DI30, DI29, DI28, DI27, DI26, DI25, DI24, DI23, DI22, DI21, DI20, DI19,
       DI18, DI17, DI16, DI15, DI14, DI13, DI12, DI11, DI10, DI9, DI8, DI7, DI6, DI5, DI4, DI3, DI2, DI1, DI0,
    input wire CLKR, CER, OCER, RST, CSR2, CSR1, CSR0,
    input wire ADR13, ADR12, ADR11, ADR10, ADR9, ADR8, ADR7, ADR6, ADR5, ADR4, ADR3, ADR2, ADR1, ADR0,
    output wire DO35, DO34, DO33, DO32, DO31, DO30, DO29, DO28, DO27, DO26, DO25, DO24, DO23, DO22, DO21, DO20,
       DO19, DO18, DO17, DO16, DO15, DO14, DO13, DO12, DO11, DO10, DO9, DO8, DO7, DO6, DO5, DO4, DO3, DO2, DO1, DO0
);

  initial
    if (DATA_WIDTH_W != 36 || DATA_WIDTH_R != 36) begin
      $display("PDPW16KD: %0d bits in, %0d out: no model", DATA_WIDTH_W, DATA_WIDTH_R);
      $finish;
    end

  wire [8:0] write_at = {ADW8, ADW7, ADW6, ADW5, ADW4, ADW3, ADW2, ADW1, ADW0};
  wire [13:0] read_at = {ADR13, ADR12, ADR11, ADR10, ADR9, ADR8, ADR7, ADR6, ADR5, ADR4, ADR3, ADR2, ADR1, ADR0};
  wire [3:0] enables = {BE3, BE2, BE1, BE0};
  wire [35:0] in = {
    DI35, DI34, DI33, DI32, DI31, DI30, DI29, DI28, DI27, DI26, DI25, DI24, DI23, DI22, DI21, DI20, DI19, DI18, DI17,
      DI16, DI15, DI14, DI13, DI12, DI11, DI10, DI9, DI8, DI7, DI6, DI5, DI4, DI3, DI2, DI1, DI0
  };

  reg [35:0] memory[0:511];
  reg [35:0] word, held;
  integer octet;

  always @(posedge CLKW)
    if (CEW && {CSW2, CSW1, CSW0} == 3'd0)
      for (octet = 0; octet < 4; octet = octet + 1)
        if (enables[octet]) memory[write_at][9*octet+:9] <= in[9*octet+:9];

  always @(posedge CLKR) begin
    if (CER && {CSR2, CSR1, CSR0} == 3'd0) word <= memory[read_at[13:5]];
    if (OCER) held <= word;
    if (RST) begin
      word <= 36'd0;
      held <= 36'd0;
    end
  end

  wire [35:0] out = REGMODE == "OUTREG" ? held : word;
  assign {
    DO17, DO16, DO15, DO14, DO13, DO12, DO11, DO10, DO9, DO8, DO7, DO6, DO5, DO4, DO3, DO2, DO1, DO0
  } = out[35:18];
  assign {
    DO35, DO34, DO33, DO32, DO31, DO30, DO29, DO28, DO27, DO26, DO25, DO24, DO23, DO22, DO21, DO20, DO19, DO18
  } = out[17:0];

endmodule

`default_nettype wire
