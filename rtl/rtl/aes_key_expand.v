// Key expansion of AES-128 and AES-256 (FIPS 197, 5.2), an octet every eighth cycle with one S-box.
//
// The key's octets come first; every octet of the schedule follows from those before it. Once sixteen are there they are
// a round key. 176 octets make AES-128's schedule, 240 that of AES-256.
`default_nettype none

module aes_key_expand (
    input wire clk,
    input wire reset,

    input  wire       start,     // the first octet of a key comes with the next `octet_valid`
    input  wire       long,      // with start: the key has 32 octets, not 16
    input  wire       octet_valid,
    output wire       octet_ready,
    input  wire [7:0] octet,

    output wire         busy,
    output reg          made,     // for one cycle: an octet more is there; until the next one comes,
    output reg  [  7:0] made_at,  // the how manieth of the schedule, from 0 on,
    output wire [127:0] row       // and the last sixteen
);

  // The last 32 octets, the youngest on top.
  reg [255:0] window;
  assign row = window[255:128];

  reg [7:0] at;  // octets so far
  reg is_long, running;
  reg [7:0] rcon;

  reg in_key;  // what comes is an octet of the key itself
  assign busy = running;

  // The word that this octet belongs to, within the words of the key.
  wire [2:0] word = is_long ? at[4:2] : {1'b0, at[3:2]};
  wire rotates = word == 3'd0;
  wire substitutes = rotates || (is_long && word == 3'd4);

  // Octet k of the word before, or k + 1 of it where it is rotated.
  wire [7:0] same = window[8*28+:8];
  wire [7:0] next = at[1:0] == 2'd3 ? window[8*25+:8] : window[8*29+:8];
  reg [7:0] taken;
  wire [7:0] substitute;
  reg [7:0] substituted;

  aes_sbox_slow sbox (
      .clk(clk),
      .octet(taken),
      .substitute(substitute)
  );

  wire [7:0] ahead = is_long ? window[7:0] : window[8*16+:8];  // of the word one key length before
  reg has_constant;  // it is the first one of a word that is rotated
  reg [7:0] derived;

  reg [2:0] cycle;  // of this octet: taken, through the S-box's registers, derived
  reg ends_key, ends;  // it is the last one of the key, of all
  reg due;  // the octet is through the S-box
  wire may_step = due && (!in_key || octet_valid);
  reg step;
  assign octet_ready = step && in_key;

  always @(posedge clk) begin
    taken <= rotates ? next : same;
    substituted <= substitutes ? substitute : taken;
    has_constant <= rotates && at[1:0] == 2'd0;
    derived <= ahead ^ substituted ^ (has_constant ? rcon : 8'd0);
    cycle <= step ? 3'd0 : cycle == 3'd5 ? 3'd5 : cycle + 3'd1;
    due <= running && !may_step && !step && cycle == 3'd5;
    step <= may_step;
    ends_key <= at == (is_long ? 8'd31 : 8'd15);
    ends <= at == (is_long ? 8'd239 : 8'd175);
    made <= step;
    if (step) begin
      made_at <= at;
      window <= {in_key ? octet : derived, window[255:8]};
      at <= at + 8'd1;
      if (!in_key && has_constant) rcon <= {rcon[6:0], 1'b0} ^ (rcon[7] ? 8'h1b : 8'h00);
      if (ends_key) in_key <= 1'b0;
      if (ends) running <= 1'b0;
    end
    if (start) begin
      running <= 1'b1;
      is_long <= long;
      in_key <= 1'b1;
      {due, step, made} <= 3'b000;
      at <= 8'd0;
      rcon <= 8'h01;
      cycle <= 3'd0;
    end
    if (reset) begin
      running <= 1'b0;
      {due, step} <= 2'b00;
      made <= 1'b0;
    end
  end

endmodule

`default_nettype wire
