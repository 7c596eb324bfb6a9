// SubBytes of AES for two octets per cycle, as a table in one block RAM with two read ports.
//
// Replaces two instances of aes_sbox_slow with the same latency: the RAM's address register, its output register, and one
// register in logic, close to the next stage. A target whose block RAM requires another description (rtl/syn) replaces
// only this file.
`default_nettype none

module aes_sbox_ram (
    input  wire        clk,
    input  wire [15:0] octets,
    output reg  [15:0] substitutes  // of the octets three cycles before
);

  `include "aes_sbox_table.vh"

  (* ram_style = "block", rom_style = "block" *)
  reg [7:0] table_of[0:255];
  reg [7:0] first, second;
  reg [15:0] read;

  integer octet;
  initial for (octet = 0; octet < 256; octet = octet + 1) table_of[octet] = SUBSTITUTES[8*(255-octet)+:8];

  always @(posedge clk) begin
    first <= table_of[octets[7:0]];
    second <= table_of[octets[15:8]];
    read <= {second, first};
    substitutes <= read;
  end

endmodule

`default_nettype wire
